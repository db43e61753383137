// SPDX-License-Identifier: Apache-2.0
// A linear layer together with what makes its input. The input is formed in a temporary, in the forward and
// again in the backward, and never kept: it costs one cheap pass and saves one activation.
#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/elementwise.h"
#include "tare/kernels/layernorm.h"
#include "tare/kernels/linear.h"
#include "tare/kernels/norm_check.h"

namespace tare {
namespace {

Tensor as_rows(const Tensor& t) { return t.view({t.numel() / t.size(-1), t.size(-1)}); }

// w as (out, in), whichever way it is stored.
Tensor as_out_in(const Tensor& w, WeightLayout layout) {
  return layout == WeightLayout::out_in ? w : w.transpose(0, 1);
}

// y = in w^T + b for contiguous in (..., in).
Tensor linear_of(const char* op, const Tensor& in, const Tensor& w, const Var& b, WeightLayout layout) {
  TARE_CHECK(in.dim() >= 1 && in.numel() > 0 && w.dim() == 2, op, ": x has shape ", in.shape(),
             ", w has shape ", w.shape());
  Shape shape = in.shape();
  shape[shape.dim() - 1] = as_out_in(w, layout).size(0);
  Tensor y = Tensor::empty(shape, {in.dtype(), in.device(), {}});
  Tensor rows = as_rows(y);
  const Tensor bias = b.defined() ? b.value().contiguous() : Tensor();
  kernels::linear_forward(as_rows(in), as_out_in(w, layout), bias, kernels::Activation::none, rows);
  return y;
}

// dw and db, inputs number `first` and the next, from the layer's input; then, in the place of that input,
// its gradient.
void linear_backward(GradOut& out, size_t first, const Tensor& dy, const Tensor& w, WeightLayout layout,
                     Tensor& in) {
  const Tensor dy_rows = as_rows(dy);
  Tensor in_rows = as_rows(in);
  if (out.needs(first)) {
    auto [dw, accum] = out(first);
    Tensor dw_out_in = as_out_in(dw, layout);
    kernels::linear_backward_weight(dy_rows, in_rows, dw_out_in, accum);
  }
  if (out.needs(first + 1)) {
    auto [db, accum] = out(first + 1);
    kernels::linear_backward_bias(dy_rows, db, accum);
  }
  kernels::linear_backward_input(dy_rows, as_out_in(w, layout), in_rows, Accum::set);
}

template <class F>
Var activated_linear(const char* op, const Var& h, const Var& w, const Var& b, WeightLayout layout) {
  const OpScope scope(op);
  const Tensor in = h.value().contiguous(), weight = w.value().contiguous();
  Tensor y;
  {
    Tensor activated = Tensor::empty_like(in);
    kernels::unary_forward<F>(in, activated);
    y = linear_of(op, activated, weight, b, layout);
  }
  return record(op, y, {h, w, b}, {in, weight}, [layout](GradOut& out, Saved& saved, const Tensor& dy) {
    const Tensor& h_saved = saved[0];
    Tensor activated = Tensor::empty_like(h_saved);
    if (out.needs(1)) kernels::unary_forward<F>(h_saved, activated);
    linear_backward(out, 1, dy, saved[1], layout, activated);
    if (!out.needs(0)) return;
    kernels::unary_backward<F>(h_saved, Tensor(), activated, activated, Accum::set);
    out.give(0, std::move(activated));
  });
}

}  // namespace

// y = f(h) w^T + b;  da = dy w, dh = f'(h) da, dw = dy^T f(h), db = column sums of dy
Var gelu_tanh_linear(const Var& h, const Var& w, const Var& b, WeightLayout layout) {
  return activated_linear<math::GeluTanh>("gelu_tanh_linear", h, w, b, layout);
}
Var gelu_erf_linear(const Var& h, const Var& w, const Var& b, WeightLayout layout) {
  return activated_linear<math::GeluErf>("gelu_erf_linear", h, w, b, layout);
}

// y = n w^T + b with n = layernorm(x);  dn = dy w, dw = dy^T n, db = column sums of dy; dx, dgamma, dbeta
// from dn as in layernorm
Var layernorm_linear(const Var& x, const Var& gamma, const Var& beta, double eps, const Var& w, const Var& b,
                     WeightLayout layout) {
  const OpScope op("layernorm_linear");
  const Tensor in = x.value().contiguous(), weight = w.value().contiguous();
  const Tensor g = gamma.value().contiguous(), shift = beta.value().contiguous();
  TARE_CHECK(in.dim() >= 1 && in.numel() > 0, "layernorm_linear: x has shape ", in.shape());
  const TensorOptions statistic{kernels::statistic_dtype(in.dtype()), in.device(), {}};
  Tensor mean = Tensor::empty({in.numel() / in.size(-1)}, statistic), rstd = Tensor::empty_like(mean);
  Tensor y;
  {
    Tensor normed = Tensor::empty_like(in);
    kernels::layernorm_forward(in, g, shift, eps, normed, mean, rstd);
    y = linear_of("layernorm_linear", normed, weight, b, layout);
  }
  const auto backward = [layout, eps](GradOut& out, Saved& saved, const Tensor& dy) {
    const Tensor& x_saved = saved[0];
    Tensor normed = Tensor::empty_like(x_saved);
    if (out.needs(3)) {
      Tensor mean_again = Tensor::empty_like(saved[3]), rstd_again = Tensor::empty_like(saved[4]);
      kernels::layernorm_forward(x_saved, saved[1], saved[2], eps, normed, mean_again, rstd_again);
    }
    linear_backward(out, 3, dy, saved[5], layout, normed);
    kernels::LayerNormGrads grads;
    const auto place = [](const GradSlot& slot, Tensor*& tensor, Accum& accum) {
      tensor = &slot.tensor;
      accum = slot.accum;
    };
    if (out.needs(0)) place(out.in_input_dtype(0), grads.dx, grads.dx_accum);
    if (out.needs(1)) place(out(1), grads.dgamma, grads.dgamma_accum);
    if (out.needs(2)) place(out(2), grads.dbeta, grads.dbeta_accum);
    Tensor scratch =
        Tensor::empty({kernels::layernorm_backward_scratch_bytes(x_saved.shape(), x_saved.dtype())},
                      {DType::u8, x_saved.device(), Category::workspace});
    kernels::layernorm_backward(x_saved, saved[1], saved[3], saved[4], normed, grads, scratch);
  };
  return record("layernorm_linear", y, {x, gamma, beta, w, b}, {in, g, shift, mean, rstd, weight}, backward);
}

}  // namespace tare
