// SPDX-License-Identifier: Apache-2.0
// AdamW over all parameters of one dtype in one call.
#pragma once

#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

struct AdamWArgs {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
};

// One update of every entry (param, grad, states = exp_avg, exp_avg_sq), torch's order: the old
// parameter decays, then moves. Learning rate, clip coefficient and loss scale come from `state`; when its
// found_inf is not 0 nothing changes. The bias corrections are those of the entry's own count of updates,
// which count_update() raises afterwards. States are f32, f64 for f64 parameters; arithmetic is theirs.
void adamw_update(const TensorTable& table, const AdamWArgs& args, const Tensor& state);

TARE_DECLARE_TWINS(adamw_update, const TensorTable& table, const AdamWArgs& args, const Tensor& state)

}  // namespace tare::kernels
