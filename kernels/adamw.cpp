// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/adamw.h"

#include "tare/kernels/optimizer_check.h"

namespace tare::kernels {

void adamw_update(const TensorTable& table, const AdamWArgs& args, const Tensor& state) {
  check_update("adamw_update", table, state, 2);
  const double bytes = 2.0 * double(size_of(table.param_dtype())) + double(size_of(table.grad_dtype())) +
                       4.0 * double(size_of(table.state_dtype()));  // p, m, v read and written, g read
  const double n = double(table.numel());
  TARE_DISPATCH(table.device(), (Cost{15 * n, bytes * n}), adamw_update(table, args, state));
}

}  // namespace tare::kernels
