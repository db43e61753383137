// SPDX-License-Identifier: Apache-2.0
// Where the largest and smallest elements are. NaN wins over every number; of equal ones the lower position
// comes first.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/reduce.h"

namespace tare::kernels {

// indices[.., 0, ..] = position of the largest (smallest) of x[.., :, ..] along `axis` (not negative). x: any
// dtype, contiguous; indices: x's shape with 1 at the axis, i64, contiguous. An axis of extent 0 is an Error.
void arg_extremum(Extremum which, const Tensor& x, int axis, Tensor& indices);
// The k largest of each row, largest first, and their positions. x: (..., n) contiguous, any dtype; values:
// (..., k) of x's dtype, indices: (..., k) i64, contiguous; 0 <= k <= n.
void topk(const Tensor& x, Tensor& values, Tensor& indices);

TARE_DECLARE_TWINS(arg_extremum, Extremum which, const Tensor& x, int axis, Tensor& indices)
TARE_DECLARE_TWINS(topk, const Tensor& x, Tensor& values, Tensor& indices)

}  // namespace tare::kernels
