// SPDX-License-Identifier: Apache-2.0
// Softmax, LayerNorm and RMSNorm as differentiable operations.
#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/layernorm.h"
#include "tare/kernels/norm_check.h"
#include "tare/kernels/rmsnorm.h"
#include "tare/kernels/softmax.h"

namespace tare {
namespace {

// The values of a weight (C); an undefined one is filled with `value`.
Tensor weight_or(const Var& weight, const Tensor& x, double value) {
  if (weight.defined()) return weight.value().contiguous();
  return Tensor::full({x.size(-1)}, value, {x.dtype(), x.device(), {}});
}

Tensor statistic(const Tensor& x) {
  return Tensor::empty({x.numel() / x.size(-1)}, {kernels::statistic_dtype(x.dtype()), x.device(), {}});
}

Tensor scratch_of(int64_t bytes, const Tensor& x) {
  return Tensor::empty({bytes}, {DType::u8, x.device(), Category::workspace});
}

void place(const GradSlot& slot, Tensor*& tensor, Accum& accum) {
  tensor = &slot.tensor;
  accum = slot.accum;
}

void check_rows(const char* op, const Var& x) {
  TARE_CHECK(x.dim() >= 1 && x.size(-1) >= 1, op, ": x of shape ", x.shape(),
             " needs a last axis of 1 or more");
}

}  // namespace

// y = softmax(x);  dx = y * (dy - sum(y * dy))
Var softmax(const Var& x) {
  const OpScope op("softmax");
  const Tensor in = x.value().contiguous();
  Tensor y = Tensor::empty_like(in);
  kernels::softmax_forward(in, y);
  return record("softmax", y, {x}, {y}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out.in_input_dtype(0);
    kernels::softmax_backward(saved[0], dy, dx, accum);
  });
}

// y = h * gamma + beta with h = (x - mean) * rstd;  with g = dy * gamma: dx = rstd * (g - mean(g) - h *
// mean(g
// * h)), dgamma = sum of dy * h over rows, dbeta = sum of dy over rows
Var layernorm(const Var& x, const Var& gamma, const Var& beta, double eps) {
  const OpScope op("layernorm");
  check_rows("layernorm", x);
  const Tensor in = x.value().contiguous();
  const Tensor weight = weight_or(gamma, in, 1);
  // The kernel wants one dtype for both weights.
  const Tensor bias = weight_or(beta, in, 0).to(weight.dtype());
  Tensor y = Tensor::empty_like(in), mean = statistic(in), rstd = statistic(in);
  kernels::layernorm_forward(in, weight, bias, eps, y, mean, rstd);
  return record("layernorm", y, {x, gamma, beta}, {in, weight, mean, rstd},
                [](GradOut& out, Saved& saved, const Tensor& dy) {
                  const Tensor& in = saved[0];
                  kernels::LayerNormGrads grads;
                  if (out.needs(0)) place(out.in_input_dtype(0), grads.dx, grads.dx_accum);
                  if (out.needs(1)) place(out(1), grads.dgamma, grads.dgamma_accum);
                  if (out.needs(2)) place(out(2), grads.dbeta, grads.dbeta_accum);
                  Tensor scratch =
                      scratch_of(kernels::layernorm_backward_scratch_bytes(in.shape(), in.dtype()), in);
                  kernels::layernorm_backward(in, saved[1], saved[2], saved[3], dy, grads, scratch);
                });
}

// y = h * gamma with h = x * rstd;  with g = dy * gamma: dx = rstd * (g - h * mean(g * h)), dgamma = sum of
// dy * h over rows
Var rmsnorm(const Var& x, const Var& gamma, double eps) {
  const OpScope op("rmsnorm");
  check_rows("rmsnorm", x);
  const Tensor in = x.value().contiguous(), weight = weight_or(gamma, in, 1);
  Tensor y = Tensor::empty_like(in), rstd = statistic(in);
  kernels::rmsnorm_forward(in, weight, eps, y, rstd);
  return record(
      "rmsnorm", y, {x, gamma}, {in, weight, rstd}, [](GradOut& out, Saved& saved, const Tensor& dy) {
        const Tensor& in = saved[0];
        kernels::RmsNormGrads grads;
        if (out.needs(0)) place(out.in_input_dtype(0), grads.dx, grads.dx_accum);
        if (out.needs(1)) place(out(1), grads.dgamma, grads.dgamma_accum);
        Tensor scratch = scratch_of(kernels::rmsnorm_backward_scratch_bytes(in.shape(), in.dtype()), in);
        kernels::rmsnorm_backward(in, saved[1], saved[2], dy, grads, scratch);
      });
}

}  // namespace tare
