// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/optimizer_row.h"

#include <algorithm>
#include <numeric>

#include "tare/bench/roof.h"
#include "tare/core/allocator.h"
#include "tare/core/machine.h"
#include "tare/kernels/profile.h"

namespace tare::bench {
namespace {

constexpr int kRoofRepeats = 7;

// The optimizer's kernels in one step's profile, as one.
kernels::KernelStats update_kernels(const kernels::Profiler& profiler,
                                    const std::vector<std::string>& names) {
  kernels::KernelStats sum;
  for (const kernels::KernelStats& s : profiler.stats())
    if (std::find(names.begin(), names.end(), s.name) != names.end()) {
      sum.calls += s.calls;
      sum.seconds += s.seconds;
      sum.cost.flops += s.cost.flops;
      sum.cost.bytes += s.cost.bytes;
    }
  TARE_CHECK(sum.calls > 0, "bench optimizers: no kernel ", names.front(), " ran in the step");
  return sum;
}

// The pattern of streams of an update that moves so many bytes per parameter: a gradient read, the rest
// updated.
StreamPattern pattern_of(double bytes_per_element) {
  const int updates = std::clamp(int((bytes_per_element - 4) / 8 + 0.5), 1, 3);
  return {1, updates};
}

// Once more when another program took memory's time from one of the two: a roof is not below a copy.
void measure_roof(OptimizerRow& row, double bytes_per_element) {
  for (int attempt = 0; attempt == 0 || (attempt < 3 && row.roof_gbps < row.copy_gbps); ++attempt) {
    const Roof roof = measure_streams(pattern_of(bytes_per_element), row.parameters, kRoofRepeats);
    row.roof_gbps = roof.gbps;
    row.roof_scatter = roof.scatter;
    row.copy_gbps = measure_copy(row.parameters, kRoofRepeats).gbps;
  }
}

}  // namespace

int64_t warmup_steps(int64_t steps) { return std::min<int64_t>(5, steps / 3); }

OptimizerRow measure_optimizer(const train::RunOptions& options, int64_t samples, int64_t rss_before,
                               const std::function<void(const train::StepResult&)>& on_step) {
  OptimizerRow row;
  row.optimizer = options.optimizer;
  ledger(kCpu).reset_peaks();
  const std::unique_ptr<train::Run> made = train::make_run(options);
  train::Run& run = *made;
  row.parameters = run.model().num_parameters();
  row.state_bytes_predicted = run.optimizer().state_bytes();

  std::vector<double> step_seconds, update_seconds, losses;
  double bytes = 0;
  while (!run.done()) {
    kernels::Profiler profiler;
    profiler.start();
    const train::StepResult result = run.step();
    profiler.stop();
    const kernels::KernelStats update = update_kernels(profiler, run.optimizer().kernel_names());
    if (result.step == 1) row.state_bytes = ledger(kCpu).current()[size_t(Category::optimizer_state)];
    losses.push_back(result.loss);
    bytes = update.cost.bytes;
    if (result.step > warmup_steps(options.steps)) {
      step_seconds.push_back(result.seconds);
      update_seconds.push_back(update.seconds);
    }
    on_step(result);
  }
  const LedgerReport memory = ledger(kCpu).report();
  row.peak_bytes = memory.peak_total;
  row.peak = memory.at_peak;
  row.held_bytes = allocator(kCpu).stats().peak_held;
  row.rss_peak_bytes = peak_rss_bytes() - rss_before;
  row.step_ms = 1e3 * median(step_seconds);
  row.update_ms = 1e3 * median(update_seconds);
  row.update_gbps = bytes / row.update_ms * 1e-6;
  row.items_per_s = double(run.items_per_step()) / row.step_ms * 1e3;
  const auto tail = std::max<int64_t>(1, int64_t(losses.size()) / 10);
  row.train_loss = std::accumulate(losses.end() - tail, losses.end(), 0.0) / double(tail);
  row.heldout = run.evaluate(samples);
  measure_roof(row, bytes / double(row.parameters));
  return row;
}

}  // namespace tare::bench
