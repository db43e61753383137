// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/rmsnorm.h"

#include "tare/kernels/check.h"
#include "tare/kernels/norm_check.h"

namespace tare::kernels {

void rmsnorm_forward(const Tensor& x, const Tensor& gamma, double eps, Tensor& y, Tensor& rstd) {
  constexpr const char* op = "rmsnorm_forward";
  check_norm_input(op, x, eps);
  check_norm_weight(op, "gamma", gamma, x);
  check_like(op, "y", y, x);
  check_contiguous(op, "y", y);
  check_norm_statistic(op, "rstd", rstd, x);
  TARE_DISPATCH_CPU(
      x.device(),
      (Cost{4 * double(x.numel()), double(x.nbytes() + y.nbytes() + gamma.nbytes() + rstd.nbytes())}),
      rmsnorm_forward(x, gamma, eps, y, rstd));
}

void rmsnorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& rstd, const Tensor& dy,
                      RmsNormGrads& grads, Tensor& scratch) {
  constexpr const char* op = "rmsnorm_backward";
  check_norm_input(op, x, 0);
  check_norm_weight(op, "gamma", gamma, x);
  check_norm_statistic(op, "rstd", rstd, x);
  check_like(op, "dy", dy, x);
  check_contiguous(op, "dy", dy);
  double bytes = double(x.nbytes() + dy.nbytes() + gamma.nbytes() + rstd.nbytes());
  bytes += check_norm_dx(op, grads.dx, x, grads.dx_accum);
  bytes += check_norm_weight_gradient(op, "dgamma", grads.dgamma, x, grads.dgamma_accum);
  check_norm_scratch(op, scratch, x, rmsnorm_backward_scratch_bytes(x.shape(), x.dtype()));
  const double n = double(x.numel());
  const double flops = (grads.dx ? 8 * n : 0) + (grads.dgamma ? 3 * n : 0);
  TARE_DISPATCH_CPU(x.device(), (Cost{flops, bytes}), rmsnorm_backward(x, gamma, rstd, dy, grads, scratch));
}

// One row of dgamma per piece, in the type of the sums.
int64_t rmsnorm_backward_scratch_bytes(const Shape& x, DType dtype) {
  return norm_scratch_rows(x) * size_of(statistic_dtype(dtype)) * x[x.dim() - 1];
}

}  // namespace tare::kernels
