// SPDX-License-Identifier: Apache-2.0
// Softmax over the last axis.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// y[r, :] = exp(x[r, :] - max) / sum.  x, y: (..., C) contiguous, one floating dtype; y may be x.
void softmax_forward(const Tensor& x, Tensor& y);
// dx[r, :] = y * (dy - sum(y * dy)).  y, dy, dx: (..., C) contiguous; dx may be dy when accum is set.
void softmax_backward(const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum);

TARE_DECLARE_TWINS(softmax_forward, const Tensor& x, Tensor& y)
TARE_DECLARE_TWINS(softmax_backward, const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum)

}  // namespace tare::kernels
