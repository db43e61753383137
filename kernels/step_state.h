// SPDX-License-Identifier: Apache-2.0
// What one training step decides. It lives on the device, so that a step needs no host synchronisation: the
// norm kernel writes grad_norm and found_inf, the schedule kernel learning_rate, and the optimizer kernels
// read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tare {

// Plain bytes, the same on host and device: what enters an update is double, so that f64 training loses
// nothing; kernels of narrower types round what they derive from it once per launch and tensor.
struct StepState {
  int64_t update = 0;            // updates done; a skipped step does not count
  double grad_norm_sq = 0;       // of the unscaled gradients
  double grad_norm = 0;          // L2 over all gradients, unscaled
  double learning_rate = 0;      // of the next update
  double clip_coefficient = 1;   // min(1, max_norm / (grad_norm + 1e-6)), as torch clips
  float loss_scale = 1;          // f32 as torch's; a power of two, so nothing is lost
  int32_t growth_tracker = 0;    // finite steps since the scale last changed
  int32_t found_inf = 0;         // not 0: a gradient is not finite, the update changes nothing
  int32_t first_nonfinite = -1;  // index of the first tensor with such a gradient
  int32_t error = 0;             // device error word: a bad label or index
  int32_t unused = 0;            // so that no byte is padding
  int64_t nonfinite = 0;         // elements of gradients that are not finite, counted when found_inf is set
};

static_assert(std::is_trivially_copyable_v<StepState> && std::is_standard_layout_v<StepState>);
static_assert(offsetof(StepState, loss_scale) == 40 && sizeof(StepState) == 72);

}  // namespace tare
