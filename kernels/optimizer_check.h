// SPDX-License-Identifier: Apache-2.0
// What the fronts of all optimizers check of their table and state.
#pragma once

#include "tare/kernels/check.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

inline void check_update(const char* op, const TensorTable& table, const Tensor& state, int states) {
  check_same_shape(op, "state", state, {int64_t(sizeof(StepState))});
  check_same_dtype(op, "state", state, DType::u8);
  check_same_device(op, "state", state, table.device());
  const bool wide = table.param_dtype() == DType::f64;
  TARE_CHECK(table.state_dtype() == (wide ? DType::f64 : DType::f32), op, ": states are ",
             table.state_dtype(), " for parameters of ", table.param_dtype(), "; expected ",
             wide ? "f64" : "f32");
  TARE_CHECK(table.grad_dtype() == table.state_dtype(), op, ": gradients are ", table.grad_dtype(),
             ", expected ", table.state_dtype());
  if (table.device().is_meta()) return;
  for (const TensorEntry& e : table.host())
    TARE_CHECK(e.updates && (e.numel == 0 ||
                             (e.param && e.grad && (states < 1 || e.state1) && (states < 2 || e.state2))),
               op, ": entry ", &e - table.host().data(), " of the table lacks a pointer");
}

}  // namespace tare::kernels
