// SPDX-License-Identifier: Apache-2.0
// How gradients meet: a tensor written over or added to another, and sums over broadcast axes.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// dst = src or dst += src, converting. Same shape, floating dtypes, any strides; the sum is formed in dst's
// accumulation type.
void accumulate(const Tensor& src, Tensor& dst, Accum accum);
// dst = or += scale * src; as accumulate. `scale` is a floating tensor of one element on src's device; dst
// may be src.
void accumulate_scaled(const Tensor& src, const Tensor& scale, Tensor& dst, Accum accum);
// dst[j] = or += sum of src over the axes along which dst broadcasts to src. Floating dtypes, any strides.
// Sums are formed in f32 (f64 for f64) in a fixed order, whatever the number of threads.
void sum_to(const Tensor& src, Tensor& dst, Accum accum);

TARE_DECLARE_TWINS(accumulate, const Tensor& src, Tensor& dst, Accum accum)
TARE_DECLARE_TWINS(accumulate_scaled, const Tensor& src, const Tensor& scale, Tensor& dst, Accum accum)
TARE_DECLARE_TWINS(sum_to, const Tensor& src, Tensor& dst, Accum accum)

}  // namespace tare::kernels
