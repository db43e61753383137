// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/layernorm.h"

#include "tare/kernels/check.h"
#include "tare/kernels/norm_check.h"
#include "tare/kernels/row_pieces.h"

namespace tare::kernels {

void layernorm_forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps, Tensor& y,
                       Tensor& mean, Tensor& rstd) {
  constexpr const char* op = "layernorm_forward";
  check_norm_input(op, x, eps);
  check_norm_weight(op, "gamma", gamma, x);
  check_norm_weight(op, "beta", beta, x);
  check_same_dtype(op, "beta", beta, gamma.dtype());
  check_like(op, "y", y, x);
  check_contiguous(op, "y", y);
  check_norm_statistic(op, "mean", mean, x);
  check_norm_statistic(op, "rstd", rstd, x);
  const double bytes =
      double(x.nbytes() + y.nbytes() + gamma.nbytes() + beta.nbytes() + mean.nbytes() + rstd.nbytes());
  TARE_DISPATCH(x.device(), (Cost{8 * double(x.numel()), bytes}),
                layernorm_forward(x, gamma, beta, eps, y, mean, rstd));
}

void layernorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                        const Tensor& dy, LayerNormGrads& grads, Tensor& scratch) {
  constexpr const char* op = "layernorm_backward";
  check_norm_input(op, x, 1);
  check_norm_weight(op, "gamma", gamma, x);
  check_norm_statistic(op, "mean", mean, x);
  check_norm_statistic(op, "rstd", rstd, x);
  check_like(op, "dy", dy, x);
  check_contiguous(op, "dy", dy);
  double bytes = double(x.nbytes() + dy.nbytes() + gamma.nbytes() + mean.nbytes() + rstd.nbytes());
  bytes += check_norm_dx(op, grads.dx, x, grads.dx_accum);
  bytes += check_norm_weight_gradient(op, "dgamma", grads.dgamma, x, grads.dgamma_accum);
  bytes += check_norm_weight_gradient(op, "dbeta", grads.dbeta, x, grads.dbeta_accum);
  check_norm_scratch(op, scratch, x, layernorm_backward_scratch_bytes(x.shape(), x.dtype()));
  const double n = double(x.numel());
  const double flops = (grads.dx ? 11 * n : 0) + (grads.dgamma ? 4 * n : 0) + (grads.dbeta ? n : 0);
  TARE_DISPATCH(x.device(), (Cost{flops, bytes}),
                layernorm_backward(x, gamma, mean, rstd, dy, grads, scratch));
}

// One row of dgamma and one of dbeta per piece, in the type of the sums.
int64_t layernorm_backward_scratch_bytes(const Shape& x, DType dtype) {
  return norm_scratch_rows(x) * 2 * size_of(statistic_dtype(dtype)) * x[x.dim() - 1];
}

}  // namespace tare::kernels
