// SPDX-License-Identifier: Apache-2.0
// One training run of `tare bench optimizers`, in a process of its own: one optimizer, one seed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tare/core/json.h"
#include "tare/core/ledger.h"
#include "tare/kernels/profile.h"
#include "tare/train/run.h"

namespace tare::bench {

// The training loss against updates and time. Of a long run, each point is the mean over the updates since
// the one before it.
struct LossCurve {
  std::vector<int64_t> step;
  std::vector<double> seconds;  // of training, data included, evaluation not
  std::vector<double> loss;
};
// At most `most` points of (1, 2, ...; seconds so far; losses).
LossCurve thinned(const std::vector<double>& seconds, const std::vector<double>& losses, size_t most = 200);

struct OptimizerRun {
  std::string optimizer;  // as it ran, with the rate that was chosen for it
  std::string data;       // where it is from: a path, or "synthetic"
  uint64_t seed = 0;
  int64_t parameters = 0;             // elements
  int64_t state_bytes = 0;            // in the ledger after the first step
  int64_t state_bytes_predicted = 0;  // from shapes and options alone
  int64_t peak_bytes = 0;             // greatest total in the ledger
  CategoryBytes peak{};               // its breakdown
  int64_t held_bytes = 0;             // greatest that the allocator held
  int64_t rss_peak_bytes = 0;         // of the process, less `rss_before`
  std::vector<double> step_ms;        // of each update after the first ones
  std::vector<double> update_ms;      // the optimizer's kernel alone
  double update_bytes = 0;            // that it moves, as it states them
  double roof_gbps = 0;               // streams of the same pattern over as many elements
  double roof_scatter = 0;            // (max - min) / median of the roof's repeats
  double copy_gbps = 0;               // a copy of as many elements, to hold the roof against
  std::string items;                  // what speed is told in: "tokens", "images"
  int64_t items_per_step = 0;
  LossCurve curve;
  double train_loss = 0;    // mean over the last tenth of the updates; NaN when it diverged
  double heldout_loss = 0;  // likewise
  std::string samples;      // what is held out: "windows", "images"
  int64_t heldout_samples = 0;
  std::optional<double> heldout_accuracy;  // share that was right, of tasks that have it
  int64_t diverged_at = 0;  // the update that could not be made or gave no finite loss; 0 of a good run
  Json description;         // of model, data and options, as train describes them; no part of the JSON
};

Json to_json(const OptimizerRun& run);
OptimizerRun optimizer_run_of(const Json& json);  // Error that names what is missing or wrong

// The optimizer's kernels in one step's profile, as one. Error when none of them ran.
kernels::KernelStats update_kernels(const kernels::Profiler& profiler, const std::vector<std::string>& names);

// Updates left out of the times: caches, huge pages and the allocator settle.
int64_t warmup_steps(int64_t steps);

struct MeasureOptions {
  int64_t samples = 0;         // of the held-out part at the end, 0 for all
  int64_t rss_before = 0;      // taken from the peak RSS
  bool only_the_loss = false;  // no roof: a run that is not reported by itself
};
// Trains and measures in this process, which should be fresh. on_step is told of each step, and of how many
// there are.
OptimizerRun measure_optimizer(const train::RunOptions& options, const MeasureOptions& measure,
                               const std::function<void(const train::StepResult&, int64_t steps)>& on_step);

}  // namespace tare::bench
