// SPDX-License-Identifier: Apache-2.0
// SGD with momentum over all parameters of one dtype in one call.
#pragma once

#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

struct SgdArgs {
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
};

// One update of every entry (param, grad, states[0] = momentum buffer unless momentum is 0), as
// torch.optim.SGD: weight decay is added to the gradient, the first buffer is the gradient itself. The rest
// as adamw_update().
void sgd_update(const TensorTable& table, const SgdArgs& args, const Tensor& state);

TARE_DECLARE_TWINS(sgd_update, const TensorTable& table, const SgdArgs& args, const Tensor& state)

}  // namespace tare::kernels
