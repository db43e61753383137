// SPDX-License-Identifier: Apache-2.0
// Layer normalisation over the last axis (Ba et al., "Layer normalization", 2016).
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// y = (x - mean) * rstd * gamma + beta, rstd = 1 / sqrt(var + eps), var = mean of (x - mean)^2.
// x, y: (..., C) contiguous, one floating dtype; y may be x. gamma, beta: (C) contiguous, of x's dtype or
// f32. mean, rstd: (rows), f32 (f64 for f64), rows = numel / C.
void layernorm_forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps, Tensor& y,
                       Tensor& mean, Tensor& rstd);

// What layernorm_backward writes; null is not wanted.
struct LayerNormGrads {
  Tensor* dx = nullptr;                        // as x; may be dy when its accum is set
  Tensor *dgamma = nullptr, *dbeta = nullptr;  // (C), x's dtype or f32 (f64 for f64)
  Accum dx_accum = Accum::set, dgamma_accum = Accum::set, dbeta_accum = Accum::set;
};

// With g = dy * gamma and h = (x - mean) * rstd: dx = rstd * (g - mean(g) - h * mean(g * h)); dgamma sums
// dy * h and dbeta dy over the rows, in fixed pieces. x, gamma, mean, rstd as in the forward, dy as x.
// scratch: u8, at least layernorm_backward_scratch_bytes(x.shape(), x.dtype()) bytes.
void layernorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                        const Tensor& dy, LayerNormGrads& grads, Tensor& scratch);
int64_t layernorm_backward_scratch_bytes(const Shape& x, DType dtype);

TARE_DECLARE_TWINS(layernorm_forward, const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps,
                   Tensor& y, Tensor& mean, Tensor& rstd)
TARE_DECLARE_TWINS(layernorm_backward, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                   const Tensor& rstd, const Tensor& dy, LayerNormGrads& grads, Tensor& scratch)

}  // namespace tare::kernels
