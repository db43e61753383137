// SPDX-License-Identifier: Apache-2.0
// Picking elements by index. Indices are i64, i32 or u8; one outside the axis is an Error that names the
// first such, its position and the extent, and nothing is written. In the gradients, contributions to one
// element are added in the order of the indices, whatever the number of threads.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// y[.., j, ..] = x[.., index[.., j, ..], ..] at `axis` (not negative). index: x's rank, contiguous, at most
// as large as x beside the axis; y: index's shape, x's dtype, contiguous; x: any dtype and strides.
void gather_forward(const Tensor& x, int axis, const Tensor& index, Tensor& y);
// dx[.., index[.., j, ..], ..] = or += dy[.., j, ..]; elements that no index names become 0 under Accum::set.
// dy: index's shape, contiguous, floating; dx: any strides, dy's dtype or f32.
void gather_backward(int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum);

// y[.., j, ..] = x[.., index[j], ..] at `axis` (not negative). index: (n) contiguous; x, y: contiguous, one
// dtype, any.
void index_select_forward(const Tensor& x, int axis, const Tensor& index, Tensor& y);
// dx[.., index[j], ..] = or += dy[.., j, ..]; the rest becomes 0 under Accum::set. dy: contiguous, floating;
// dx: contiguous, dy's dtype or f32.
void index_select_backward(int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum);

TARE_DECLARE_TWINS(gather_forward, const Tensor& x, int axis, const Tensor& index, Tensor& y)
TARE_DECLARE_TWINS(gather_backward, int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum)
TARE_DECLARE_TWINS(index_select_forward, const Tensor& x, int axis, const Tensor& index, Tensor& y)
TARE_DECLARE_TWINS(index_select_backward, int axis, const Tensor& index, const Tensor& dy, Tensor& dx,
                   Accum accum)

}  // namespace tare::kernels
