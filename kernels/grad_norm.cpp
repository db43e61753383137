// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/grad_norm.h"

#include "tare/kernels/check.h"

namespace tare::kernels {

int64_t grad_norm_scratch_bytes(const TensorTable& table) {
  return (table.numel() + kNormPiece - 1) / kNormPiece * int64_t(sizeof(NormPiece));
}

void grad_norm(const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state) {
  check_same_shape("grad_norm", "state", state, {int64_t(sizeof(StepState))});
  check_same_dtype("grad_norm", "state", state, DType::u8);
  check_same_device("grad_norm", "state", state, table.device());
  check_same_dtype("grad_norm", "scratch", scratch, DType::u8);
  check_same_device("grad_norm", "scratch", scratch, table.device());
  check_contiguous("grad_norm", "scratch", scratch);
  TARE_CHECK(scratch.nbytes() >= grad_norm_scratch_bytes(table), "grad_norm: scratch has ", scratch.nbytes(),
             " bytes, needs ", grad_norm_scratch_bytes(table));
  const double n = double(table.numel());
  TARE_DISPATCH_CPU(table.device(), (Cost{2 * n, n * double(size_of(table.grad_dtype()))}),
                    grad_norm(table, first_index, scratch, state));
}

void count_nonfinite(const TensorTable& table, Tensor& state) {
  check_same_shape("count_nonfinite", "state", state, {int64_t(sizeof(StepState))});
  check_same_dtype("count_nonfinite", "state", state, DType::u8);
  check_same_device("count_nonfinite", "state", state, table.device());
  // What it nearly always costs.
  TARE_DISPATCH_CPU(table.device(), (Cost{0, sizeof(StepState)}), count_nonfinite(table, state));
}

}  // namespace tare::kernels
