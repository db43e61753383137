// SPDX-License-Identifier: Apache-2.0
// What `tare bench optimizers` reports: a row for each optimizer over all its seeds, and what it was measured
// with. Written as JSON, and read again to be compared or shown as a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tare/bench/optimizer_run.h"
#include "tare/bench/tuning.h"

namespace tare::bench {

// A sweep of learning rates that came before the runs of a row.
struct Tuning {
  int64_t steps = 0;  // of each of its runs
  uint64_t seed = 0;  // of all of them, and of no run of the row
  LearningRateSearch search{0};
};

struct OptimizerRow {
  std::string optimizer;           // the text as given
  std::vector<OptimizerRun> runs;  // one for each seed, at least one
  std::optional<Tuning> tuning;

  const OptimizerRun& first() const { return runs.front(); }
  double bytes_per_param() const { return double(first().state_bytes) / double(first().parameters); }
  const OptimizerRun& largest() const;    // the run with the greatest peak in the ledger
  int64_t rss_peak_bytes() const;         // the greatest
  std::vector<double> rss_peaks() const;  // of each run
  std::vector<double> step_samples() const, update_samples() const;  // of all runs
  double step_ms() const;                                            // medians over all runs; NaN of none
  double update_ms() const;
  double update_gbps() const;
  double roof_gbps() const;  // median
  double roof_scatter() const;
  double copy_gbps() const;
  double percent_of_roof() const { return 100 * update_gbps() / roof_gbps(); }
  double roof_ms() const { return first().update_bytes / roof_gbps() * 1e-6; }
  double items_per_s() const { return double(first().items_per_step) / step_ms() * 1e3; }
  std::vector<double> train_losses() const, heldout_losses() const;  // of each run
  std::vector<double> accuracies() const;  // of each run, NaN where it diverged; none for texts
  int64_t diverged() const;                // how many runs did
  LossCurve curve() const;  // the mean over the runs that did not diverge; if all did, the longest
};

struct OptimizersReport {
  Json machine, run;  // as the tools describe them
  std::string command, date;
  std::vector<OptimizerRow> rows;
};

Json to_json(const OptimizerRow& row);
Json to_json(const OptimizersReport& report);
// Error that says so when `json` is no such report, or one of another version.
OptimizersReport optimizers_report_of(const Json& json, const std::string& source);

}  // namespace tare::bench
