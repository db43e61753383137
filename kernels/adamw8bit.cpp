// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/adamw8bit.h"

#include "tare/kernels/optimizer_check.h"

namespace tare::kernels {

void adamw8bit_update(const TensorTable& table, const AdamW8bitArgs& args, const Tensor& state) {
  const char* op = "adamw8bit_update";
  check_step_state(op, table, state);
  check_code_block(op, args.block);
  code_map(args.map, true);
  code_map(args.map_sq, false);
  TARE_CHECK(table.param_dtype() != DType::f64, op, ": parameters are f64, whose moments 8 bits cannot hold");
  TARE_CHECK(table.state_dtype() == DType::u8, op, ": states are ", table.state_dtype(), ", expected u8");
  TARE_CHECK(table.grad_dtype() == DType::f32, op, ": gradients are ", table.grad_dtype(), ", expected f32");
  check_pointers(op, table, 4);
  const double n = double(table.numel());
  const double bytes = 2.0 * double(size_of(table.param_dtype())) + double(size_of(table.grad_dtype())) +
                       4.0 +
                       16.0 / double(args.block);  // p, both codes and absmaxes read and written, g read
  TARE_DISPATCH_CPU(table.device(), (Cost{38 * n, bytes * n}), adamw8bit_update(table, args, state));
}

}  // namespace tare::kernels
