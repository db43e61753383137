// SPDX-License-Identifier: Apache-2.0
// Root-mean-square normalisation over the last axis (Zhang and Sennrich, "Root mean square layer
// normalization", 2019).
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// y = x * rstd * gamma, rstd = 1 / sqrt(mean of x^2 + eps).  x, y: (..., C) contiguous, one floating dtype; y
// may be x. gamma: (C) contiguous, of x's dtype or f32. rstd: (rows), f32 (f64 for f64), rows = numel / C.
void rmsnorm_forward(const Tensor& x, const Tensor& gamma, double eps, Tensor& y, Tensor& rstd);

// What rmsnorm_backward writes; null is not wanted.
struct RmsNormGrads {
  Tensor* dx = nullptr;      // as x; may be dy when its accum is set
  Tensor* dgamma = nullptr;  // (C), x's dtype or f32 (f64 for f64)
  Accum dx_accum = Accum::set, dgamma_accum = Accum::set;
};

// With g = dy * gamma and h = x * rstd: dx = rstd * (g - h * mean(g * h)); dgamma sums dy * h over the rows,
// in fixed pieces. x, gamma, rstd as in the forward, dy as x. scratch: u8, at least
// rmsnorm_backward_scratch_bytes(x.shape(), x.dtype()) bytes.
void rmsnorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& rstd, const Tensor& dy,
                      RmsNormGrads& grads, Tensor& scratch);
int64_t rmsnorm_backward_scratch_bytes(const Shape& x, DType dtype);

TARE_DECLARE_TWINS(rmsnorm_forward, const Tensor& x, const Tensor& gamma, double eps, Tensor& y, Tensor& rstd)
TARE_DECLARE_TWINS(rmsnorm_backward, const Tensor& x, const Tensor& gamma, const Tensor& rstd,
                   const Tensor& dy, RmsNormGrads& grads, Tensor& scratch)

}  // namespace tare::kernels
