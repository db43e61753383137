// SPDX-License-Identifier: Apache-2.0
// Products of matrices, batched with broadcasting.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// c = or += a b.  a (..., M, K), b (..., K, N), c (..., M, N), at least two axes each, one floating dtype, or
// c f32 beside half types; the leading axes of a and b broadcast to c's. All may be strided:
// is_matrix_view(); c must not overlap the operands. Half types are multiplied and summed in f32.
void matmul(const Tensor& a, const Tensor& b, Tensor& c, Accum accum);

// Whether matmul takes t as an operand: one of the last two strides is 1 and the other is no broadcast. What
// is not goes through contiguous().
bool is_matrix_view(const Tensor& t);

TARE_DECLARE_TWINS(matmul, const Tensor& a, const Tensor& b, Tensor& c, Accum accum)

}  // namespace tare::kernels
