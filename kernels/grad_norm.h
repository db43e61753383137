// SPDX-License-Identifier: Apache-2.0
// The global gradient norm, and the search for gradients that are not finite, in one read of all gradients.
#pragma once

#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

// Adds the sum of squares of all gradients, over loss_scale^2, to grad_norm_sq of `state`. A gradient that is
// not finite sets found_inf and, if it is the first, first_nonfinite = first_index + its number in the table.
// Sums are formed in pieces that do not depend on the number of threads: f32 lanes, f64 between runs of 1,024
// elements (f64 for f64). `scratch`: grad_norm_scratch_bytes(table) u8.
void grad_norm(const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state);
int64_t grad_norm_scratch_bytes(const TensorTable& table);

TARE_DECLARE_TWINS(grad_norm, const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state)

}  // namespace tare::kernels
