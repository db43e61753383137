// SPDX-License-Identifier: Apache-2.0
// The linear layer and its gradients. Everywhere w is (out, in): nn.Linear's layout as it stands; that of
// GPT-2's Conv1D, (in, out), as its transposed view. x may be any 2-D view that matmul takes.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

enum class Activation : uint8_t { none, gelu_tanh, gelu_erf, relu };

// y = activation(x w^T + bias).  x (N, in), w (out, in), bias (out) dense or undefined, y (N, out) with dense
// rows; one floating dtype. y must not overlap the operands.
void linear_forward(const Tensor& x, const Tensor& w, const Tensor& bias, Activation activation, Tensor& y);
// dx = or += dy w.  dy (N, out), dx (N, in).
void linear_backward_input(const Tensor& dy, const Tensor& w, Tensor& dx, Accum accum);
// dw = or += dy^T x.  dw (out, in), in the layout of either kind; f32, or the dtype of dy and x.
void linear_backward_weight(const Tensor& dy, const Tensor& x, Tensor& dw, Accum accum);
// dbias = or += column sums of dy, formed in f32 pieces that are summed in f64.  dy (N, out) with dense rows;
// dbias (out) of any floating dtype.
void linear_backward_bias(const Tensor& dy, Tensor& dbias, Accum accum);

TARE_DECLARE_TWINS(linear_forward, const Tensor& x, const Tensor& w, const Tensor& bias,
                   Activation activation, Tensor& y)
TARE_DECLARE_TWINS(linear_backward_bias, const Tensor& dy, Tensor& dbias, Accum accum)

}  // namespace tare::kernels
