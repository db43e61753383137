// SPDX-License-Identifier: Apache-2.0
// The global gradient norm, and the search for gradients that are not finite, in one read of all gradients.
#pragma once

#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

// Adds the sum of squares of all gradients, over loss_scale^2, to grad_norm_sq of `state`. A gradient that is
// not finite (or at which a sum of squares overflows f64) sets found_inf and, if it is the first,
// first_nonfinite = first_index + its number in the table. The table is cut into pieces of kNormPiece
// elements whatever the number of threads; sums run in f32 lanes, f64 between runs of 1,024 elements (f64 for
// f64). `scratch`: grad_norm_scratch_bytes(table) u8.
void grad_norm(const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state);
int64_t grad_norm_scratch_bytes(const TensorTable& table);

// Where found_inf of `state` is set, adds the number of gradient elements that are not finite to its
// `nonfinite`; else it returns at once.
void count_nonfinite(const TensorTable& table, Tensor& state);

TARE_DECLARE_TWINS(count_nonfinite, const TensorTable& table, Tensor& state)
TARE_DECLARE_TWINS(grad_norm, const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state)

inline constexpr int64_t kNormPiece = 1 << 16;
struct NormPiece {  // what the scratch holds, one for each piece
  double sum_of_squares = 0;
  int64_t first_nonfinite = -1;  // number of the entry in the table
};

}  // namespace tare::kernels
