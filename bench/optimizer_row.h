// SPDX-License-Identifier: Apache-2.0
// One row of `tare bench optimizers`: a model trained with one optimizer, its memory, speed and losses.
#pragma once

#include <functional>
#include <string>

#include "tare/core/ledger.h"
#include "tare/train/run.h"

namespace tare::bench {

struct OptimizerRow {
  std::string optimizer;              // the text as given
  int64_t parameters = 0;             // elements
  int64_t state_bytes = 0;            // in the ledger after the first step
  int64_t state_bytes_predicted = 0;  // from shapes and options alone
  int64_t peak_bytes = 0;             // greatest total in the ledger
  CategoryBytes peak{};               // its breakdown
  int64_t held_bytes = 0;             // greatest that the allocator held
  int64_t rss_peak_bytes = 0;         // of the process, less `rss_before`
  double update_ms = 0;               // the optimizer's kernel alone, median
  double update_gbps = 0;             // its bytes over that time
  double roof_gbps = 0;               // streams of the same pattern over as many elements
  double roof_scatter = 0;            // (max - min) / median of the roof's repeats
  double copy_gbps = 0;               // a copy of as many elements, to hold the roof against
  double step_ms = 0;                 // median
  double items_per_s = 0;             // tokens, images
  double train_loss = 0;              // mean over the last tenth of the steps
  train::Evaluation heldout;
  double bytes_per_param() const { return double(state_bytes) / double(parameters); }
};

// Steps left out of the medians: caches, huge pages and the allocator settle.
int64_t warmup_steps(int64_t steps);

// Trains and measures in this process, which should be fresh. `samples` of the held-out part at the end, 0
// for all.
OptimizerRow measure_optimizer(const train::RunOptions& options, int64_t samples, int64_t rss_before,
                               const std::function<void(const train::StepResult&)>& on_step);

}  // namespace tare::bench
