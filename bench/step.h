// SPDX-License-Identifier: Apache-2.0
// A training step taken apart: phases, kernels, memory, and the same matrix products alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tare/core/ledger.h"
#include "tare/kernels/profile.h"
#include "tare/train/run.h"

namespace tare::bench {

struct StepBreakdown {
  double step_ms = 0;  // medians over the repeats
  double forward_ms = 0, backward_ms = 0, update_ms = 0;
  double gemm_ms = 0;  // all linear layers and the head, forward and both backward products; 0 without oneDNN
  double gemm_gflops = 0;   // achieved by them
  double step_scatter = 0;  // (max - min) / median
  double gemm_scatter = 0;
  int64_t peak_bytes = 0;  // of the ledger
  CategoryBytes peak{};
  int64_t held_bytes = 0;                     // greatest that the allocator held
  int64_t rss_peak_bytes = 0;                 // of the process, less `rss_before`
  std::vector<kernels::KernelStats> kernels;  // per step, longest first
  std::vector<kernels::KernelEvent> events;   // of the last step
  double step_over_gemm() const { return gemm_ms > 0 ? step_ms / gemm_ms : 0; }
};

// Training steps that are asked for one by one, after the warm-up steps.
class StepBench {
 public:
  StepBench(const train::RunOptions& options, int64_t rss_before);
  double measure();  // milliseconds of one whole step
  train::Run& run() { return *run_; }
  int64_t peak_bytes() const { return peak_bytes_; }  // of the ledger
  int64_t rss_peak_bytes() const { return rss_peak_bytes_; }

 private:
  std::unique_ptr<train::Run> run_;
  int64_t peak_bytes_ = 0, rss_peak_bytes_ = 0;
};

// Steps and products take turns, `repeats` times after three warm-up steps, in which memory is measured.
StepBreakdown measure_step(const train::RunOptions& options, int repeats, int64_t rss_before,
                           const std::function<void(int done)>& on_repeat);

}  // namespace tare::bench
