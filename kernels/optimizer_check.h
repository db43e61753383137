// SPDX-License-Identifier: Apache-2.0
// What the fronts of all optimizers check of their table and state.
#pragma once

#include "tare/kernels/check.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

// Every entry has its parameter, gradient, count of updates and its first `states` states.
inline void check_pointers(const char* op, const TensorTable& table, int states) {
  if (table.device().is_meta()) return;
  for (const TensorEntry& e : table.host()) {
    bool whole = e.updates && (e.numel == 0 || (e.param && e.grad));
    for (int k = 0; k < states && e.numel > 0; ++k) whole = whole && e.states[k];
    TARE_CHECK(whole, op, ": entry ", &e - table.host().data(), " of the table lacks a pointer");
  }
}

inline void check_step_state(const char* op, const TensorTable& table, const Tensor& state) {
  check_same_shape(op, "state", state, {int64_t(sizeof(StepState))});
  check_same_dtype(op, "state", state, DType::u8);
  check_same_device(op, "state", state, table.device());
}

// For kernels whose states have the type that the update is computed in.
inline void check_update(const char* op, const TensorTable& table, const Tensor& state, int states) {
  check_step_state(op, table, state);
  const bool wide = table.param_dtype() == DType::f64;
  TARE_CHECK(table.state_dtype() == (wide ? DType::f64 : DType::f32), op, ": states are ",
             table.state_dtype(), " for parameters of ", table.param_dtype(), "; expected ",
             wide ? "f64" : "f32");
  TARE_CHECK(table.grad_dtype() == table.state_dtype(), op, ": gradients are ", table.grad_dtype(),
             ", expected ", table.state_dtype());
  check_pointers(op, table, states);
}

}  // namespace tare::kernels
