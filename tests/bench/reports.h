// SPDX-License-Identifier: Apache-2.0
// Reports of bench optimizers that no one measured: small, exact, with what the tests want in them.
#pragma once

#include <string>
#include <vector>

#include "tare/bench/optimizer_report.h"

namespace tare::bench::test {

inline OptimizerRun made_run(const std::string& optimizer, uint64_t seed, double loss) {
  OptimizerRun r;
  r.optimizer = optimizer;
  r.data = "t.txt";
  r.seed = seed;
  r.parameters = 1000;
  r.state_bytes = r.state_bytes_predicted = 8000;
  r.peak[size_t(Category::parameters)] = 4000;
  r.peak[size_t(Category::gradients)] = 3999;
  r.peak[size_t(Category::optimizer_state)] = 8000;
  r.peak_bytes = 15999;
  r.held_bytes = 65536;
  r.rss_peak_bytes = 1234567;
  for (int i = 0; i < 40; ++i) {
    r.step_ms.push_back(20 + 0.1 * (i % 5));
    r.update_ms.push_back(2 + 0.01 * (i % 3));
  }
  r.update_bytes = 28000;
  r.roof_gbps = 0.02;
  r.roof_scatter = 0.05;
  r.copy_gbps = 0.01;
  r.items = "tokens";
  r.items_per_step = 64;
  r.samples = "windows";
  r.heldout_samples = 8;
  r.train_loss = loss - 0.125;
  r.heldout_loss = loss;
  for (int64_t i = 1; i <= 40; ++i) {
    r.curve.step.push_back(i);
    r.curve.seconds.push_back(0.02 * double(i));
    r.curve.loss.push_back(loss + 3.0 / double(i));
  }
  return r;
}

inline OptimizerRow made_row(const std::string& optimizer, const std::vector<double>& losses) {
  OptimizerRow row;
  row.optimizer = optimizer;
  for (size_t i = 0; i < losses.size(); ++i) row.runs.push_back(made_run(optimizer, 7 + i, losses[i]));
  return row;
}

// As a run that left the finite numbers at `step`.
inline void diverge(OptimizerRun& run, int64_t step) {
  run.diverged_at = step;
  run.train_loss = run.heldout_loss = std::numeric_limits<double>::quiet_NaN();
  run.step_ms.clear();
  run.update_ms.clear();
  run.curve.step.resize(size_t(step - 1));
  run.curve.seconds.resize(size_t(step - 1));
  run.curve.loss.resize(size_t(step - 1));
}

inline OptimizersReport made_report(std::vector<OptimizerRow> rows) {
  OptimizersReport report;
  report.machine = Json::object({{"cpu", "a processor"}, {"threads", 2}, {"isa", "v3"}, {"tare", "0.1.0"}});
  report.run = Json::object({{"text", "t.txt"},
                             {"text_hash", "fnv1a64:0"},
                             {"model", "demo"},
                             {"steps", 40},
                             {"batch", 2},
                             {"seq", 32}});
  report.command = "tare bench optimizers";
  report.date = "2026-01-01T00:00:00Z";
  report.rows = std::move(rows);
  return report;
}

}  // namespace tare::bench::test
