// SPDX-License-Identifier: Apache-2.0
// What one training step decides. It lives on the device, so that a step needs no host synchronisation: the
// norm kernel writes grad_norm and found_inf, the schedule kernel learning_rate, and the optimizer kernels
// read them.
#pragma once

#include <cstdint>

namespace tare {

struct StepState {
  int64_t update = 0;          // updates done; a skipped step does not count
  double grad_norm_sq = 0;     // of the unscaled gradients
  float learning_rate = 0;     // of the next update
  float grad_norm = 0;         // L2 over all gradients, unscaled
  float clip_coefficient = 1;  // min(1, max_norm / (grad_norm + 1e-6)), as torch clips
  float loss_scale = 1;
  int32_t growth_tracker = 0;    // finite steps since the scale last changed
  int32_t found_inf = 0;         // not 0: a gradient is not finite, the update changes nothing
  int32_t first_nonfinite = -1;  // index of the first tensor with such a gradient
  int32_t error = 0;             // device error word: a bad label or index
};

static_assert(sizeof(StepState) == 48);

}  // namespace tare
