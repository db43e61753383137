// SPDX-License-Identifier: Apache-2.0
// An optimizer's update alone: the parameters of a model with gradients that stay, updated again and again.
#pragma once

#include <string>
#include <vector>

#include "tare/bench/roof.h"
#include "tare/train/run.h"

namespace tare::bench {

struct UpdateSample {
  double update_ms = 0;  // the optimizer's kernels
  double step_ms = 0;    // the whole call: the norm with its search for gradients that are not finite, update
  double roof_gbps = 0;  // streams of the same pattern, right after it
};

class UpdateBench {
 public:
  // The run gives model and optimizer; gradients are normal, with a standard deviation of 1e-3. Makes the
  // states by two updates.
  UpdateBench(const train::RunOptions& options, double max_grad_norm);

  // One update, its operands out of the caches, then one repeat of the roof's streams.
  UpdateSample measure();
  int64_t parameters() const { return parameters_; }
  int64_t state_bytes() const { return run_->optimizer().state_bytes(); }
  double bytes() const { return bytes_; }  // that an update moves, as its kernels state them
  // What such a share of the roof takes, in milliseconds.
  double roof_ms(double roof_gbps) const { return bytes_ / roof_gbps * 1e-6; }

 private:
  UpdateSample update();

  std::unique_ptr<train::Run> run_;
  double max_grad_norm_;
  int64_t parameters_ = 0;
  double bytes_ = 0;
  CacheFlush flush_;
};

}  // namespace tare::bench
