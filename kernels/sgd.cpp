// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/sgd.h"

#include "tare/kernels/optimizer_check.h"

namespace tare::kernels {

void sgd_update(const TensorTable& table, const SgdArgs& args, const Tensor& state) {
  const bool momentum = args.momentum != 0;
  check_update("sgd_update", table, state, momentum ? 1 : 0);
  TARE_CHECK(!args.nesterov || momentum, "sgd_update: nesterov needs a momentum");
  const double bytes = 2.0 * double(size_of(table.param_dtype())) + double(size_of(table.grad_dtype())) +
                       (momentum ? 2.0 * double(size_of(table.state_dtype())) : 0);
  const double n = double(table.numel());
  TARE_DISPATCH_CPU(table.device(), (Cost{(momentum ? 8 : 5) * n, bytes * n}),
                    sgd_update(table, args, state));
}

}  // namespace tare::kernels
