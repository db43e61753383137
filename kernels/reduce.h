// SPDX-License-Identifier: Apache-2.0
// Reductions over one or several axes. A result has x's rank, with extent 1 along the reduced axes; callers
// drop them by a view. Any strides. Sums are formed in f32 with f64 totals (f64 for f64), in an order that
// depends on shapes and strides alone. The sum itself is sum_to() in accumulate.h.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

enum class Extremum : uint8_t { max, min };

// y = sum of x / count. Floating dtypes. NaN where nothing is summed.
void mean_forward(const Tensor& x, Tensor& y);
// y = the largest or smallest x; NaN wins. x is not empty along the reduced axes.
void extremum_forward(Extremum which, const Tensor& x, Tensor& y);
// dx = or += dy / (number of ties) where x == y, or where both are NaN, else 0. y, dy: shape of the result;
// ties: likewise, f32 (f64 for f64), scratch.
void extremum_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& ties, Tensor& dx,
                       Accum accum);
// y = sum of (x - mean)^2 / max(0, count - correction); mean as y, but f32 (f64 for f64), is written too. NaN
// or inf where the divisor is 0.
void variance_forward(const Tensor& x, int64_t correction, Tensor& mean, Tensor& y);
// dx = or += 2 (x - mean) / max(0, count - correction) dy
void variance_backward(const Tensor& x, const Tensor& mean, const Tensor& dy, int64_t correction, Tensor& dx,
                       Accum accum);

TARE_DECLARE_TWINS(mean_forward, const Tensor& x, Tensor& y)
TARE_DECLARE_TWINS(extremum_forward, Extremum which, const Tensor& x, Tensor& y)
TARE_DECLARE_TWINS(extremum_backward, const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& ties,
                   Tensor& dx, Accum accum)
TARE_DECLARE_TWINS(variance_forward, const Tensor& x, int64_t correction, Tensor& mean, Tensor& y)
TARE_DECLARE_TWINS(variance_backward, const Tensor& x, const Tensor& mean, const Tensor& dy,
                   int64_t correction, Tensor& dx, Accum accum)

}  // namespace tare::kernels
