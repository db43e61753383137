// SPDX-License-Identifier: Apache-2.0
// The checks that the fronts of LayerNorm and RMSNorm share.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/accum.h"

namespace tare::kernels {

// The dtype of row statistics and of sums over rows: f32, f64 for f64.
DType statistic_dtype(DType x);
// x: (..., C) contiguous, floating, C >= 1; eps >= 0 and finite.
void check_norm_input(const char* op, const Tensor& x, double eps);
// (C), contiguous, of x's dtype or its statistic_dtype.
void check_norm_weight(const char* op, const char* what, const Tensor& weight, const Tensor& x);
// (rows) of statistic_dtype.
void check_norm_statistic(const char* op, const char* what, const Tensor& statistic, const Tensor& x);
// Each returns the bytes that writing the gradient moves, 0 when it is null.
double check_norm_dx(const char* op, const Tensor* dx, const Tensor& x, Accum accum);
double check_norm_weight_gradient(const char* op, const char* what, const Tensor* gradient, const Tensor& x,
                                  Accum accum);
void check_norm_scratch(const char* op, const Tensor& scratch, const Tensor& x, int64_t bytes);
int64_t norm_scratch_rows(const Shape& x);  // one per piece of rows

}  // namespace tare::kernels
