// SPDX-License-Identifier: Apache-2.0
// Convolution of images in two dimensions, as torch's conv2d: products of the kernels with the columns of x,
// (C KH KW, positions), which are gathered piece by piece. The scratch does not grow with the batch.
//   y[b, o, i, j] = bias[o] + sum over c, p, q of
//                   w[o, c, p, q] x[b, c, i stride - padding + p dilation, j stride - padding + q dilation]
// Everything is dense; outputs must not overlap the operands. Half types are summed in f32 and rounded once.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/conv2d_sizes.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// x (B, C, H, W), w (O, C, KH, KW), bias (O) or undefined, y (B, O, OH, OW); one floating dtype.
void conv2d_forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dOptions& options,
                    Tensor& scratch, Tensor& y);
// dx = or += what y's gradient gives x.  dx (B, C, H, W): f32, or the dtype of dy and w.
void conv2d_backward_input(const Tensor& dy, const Tensor& w, const Conv2dOptions& options, Tensor& scratch,
                           Tensor& dx, Accum accum);
// dw = or += what y's gradient gives w.  dw (O, C, KH, KW): f32, or the dtype of dy and x.
void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const Conv2dOptions& options, Tensor& scratch,
                            Tensor& dw, Accum accum);

// Of the scratch: u8, any contents.
int64_t conv2d_forward_scratch_bytes(const Conv2dSizes& sizes, DType dtype);
int64_t conv2d_backward_input_scratch_bytes(const Conv2dSizes& sizes, DType dtype);
int64_t conv2d_backward_weight_scratch_bytes(const Conv2dSizes& sizes, DType dtype);

TARE_DECLARE_TWINS(conv2d_forward, const Tensor& x, const Tensor& w, const Tensor& bias,
                   const Conv2dSizes& sizes, Tensor& scratch, Tensor& y)
TARE_DECLARE_TWINS(conv2d_backward_input, const Tensor& dy, const Tensor& w, const Conv2dSizes& sizes,
                   Tensor& scratch, Tensor& dx, Accum accum)
TARE_DECLARE_TWINS(conv2d_backward_weight, const Tensor& dy, const Tensor& x, const Conv2dSizes& sizes,
                   Tensor& scratch, Tensor& dw, Accum accum)

}  // namespace tare::kernels
