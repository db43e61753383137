// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/norm_check.h"

#include <cmath>

#include "tare/kernels/check.h"
#include "tare/kernels/row_pieces.h"

namespace tare::kernels {
namespace {

int64_t rows_of(const Shape& x) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < x.dim(); ++i) rows *= x[i];
  return rows;
}

}  // namespace

DType statistic_dtype(DType x) { return x == DType::f64 ? DType::f64 : DType::f32; }

void check_norm_input(const char* op, const Tensor& x, double eps) {
  check_floating(op, "x", x);
  TARE_CHECK(x.dim() >= 1 && x.size(-1) >= 1, op, ": x of shape ", x.shape(),
             " needs a last axis of 1 or more");
  check_contiguous(op, "x", x);
  TARE_CHECK(std::isfinite(eps) && eps >= 0, op, ": eps is ", eps, ", expected 0 or more");
}

void check_norm_weight(const char* op, const char* what, const Tensor& weight, const Tensor& x) {
  check_same_shape(op, what, weight, {x.size(-1)});
  TARE_CHECK(weight.dtype() == x.dtype() || weight.dtype() == statistic_dtype(x.dtype()), op, ": ", what,
             " is ", weight.dtype(), ", expected ", x.dtype(), " or ", statistic_dtype(x.dtype()));
  check_same_device(op, what, weight, x.device());
  check_contiguous(op, what, weight);
}

void check_norm_statistic(const char* op, const char* what, const Tensor& statistic, const Tensor& x) {
  check_same_shape(op, what, statistic, {rows_of(x.shape())});
  check_same_dtype(op, what, statistic, statistic_dtype(x.dtype()));
  check_same_device(op, what, statistic, x.device());
  check_contiguous(op, what, statistic);
}

double check_norm_weight_gradient(const char* op, const char* what, const Tensor* gradient, const Tensor& x,
                                  Accum accum) {
  if (!gradient) return 0;
  check_norm_weight(op, what, *gradient, x);
  return double(gradient->nbytes()) * (accum == Accum::add ? 2 : 1);
}

double check_norm_dx(const char* op, const Tensor* dx, const Tensor& x, Accum accum) {
  if (!dx) return 0;
  check_like(op, "dx", *dx, x);
  check_contiguous(op, "dx", *dx);
  return double(dx->nbytes()) * (accum == Accum::add ? 2 : 1);
}

void check_norm_scratch(const char* op, const Tensor& scratch, const Tensor& x, int64_t bytes) {
  TARE_CHECK(scratch.defined() && scratch.nbytes() >= bytes, op, ": scratch has ",
             scratch.defined() ? scratch.nbytes() : 0, " bytes, needs ", bytes);
  check_same_dtype(op, "scratch", scratch, DType::u8);
  check_same_device(op, "scratch", scratch, x.device());
  check_contiguous(op, "scratch", scratch);
}

int64_t norm_scratch_rows(const Shape& x) { return row_pieces(rows_of(x)).count; }

}  // namespace tare::kernels
