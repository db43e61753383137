// SPDX-License-Identifier: Apache-2.0
// Matrix products and linear layers.
#include "tare/kernels/linear.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/matmul.h"

namespace tare {
namespace {

Tensor matrix_view(const Tensor& t) { return kernels::is_matrix_view(t) ? t : t.contiguous(); }

// The leading axes of `shape`, then two more.
Shape with_matrix(const Shape& shape, int64_t rows, int64_t cols) {
  Shape result(std::span(shape.begin(), size_t(shape.dim() - 2)));
  result.push_back(rows);
  result.push_back(cols);
  return result;
}

// (..., C) as (rows, C).
Tensor as_rows(const Tensor& t) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < t.dim(); ++i) rows *= t.shape()[i];
  return matrix_view(t.reshape({rows, t.size(-1)}));
}

// w as (out, in), whichever way it is stored.
Tensor as_out_in(const Tensor& w, WeightLayout layout) {
  return layout == WeightLayout::out_in ? w : w.transpose(0, 1);
}

// y = a b;  da = dy b^T, db = a^T dy, summed over broadcast leading axes
Var matmul_batched(const Var& va, const Var& vb) {
  const OpScope op("matmul");
  const Tensor a = matrix_view(va.value()), b = matrix_view(vb.value());
  const Shape leading =
      broadcast_shapes(with_matrix(a.shape(), 1, 1), with_matrix(b.shape(), 1, 1), "matmul");
  Tensor y = Tensor::empty(with_matrix(leading, a.size(-2), b.size(-1)), {a.dtype(), a.device(), {}});
  kernels::matmul(a, b, y, Accum::set);
  return record("matmul", y, {va, vb}, {vb.requires_grad() ? a : Tensor(), va.requires_grad() ? b : Tensor()},
                [](GradOut& out, Saved& saved, const Tensor& dy) {
                  const int64_t inner = out.shape(0)[out.shape(0).dim() - 1];
                  if (out.needs(0)) {
                    auto [da, accum] = out(0, with_matrix(dy.shape(), dy.size(-2), inner));
                    kernels::matmul(dy, saved[1].transpose(-2, -1), da, accum);
                  }
                  if (out.needs(1)) {
                    auto [db, accum] = out(1, with_matrix(dy.shape(), inner, dy.size(-1)));
                    kernels::matmul(saved[0].transpose(-2, -1), dy, db, accum);
                  }
                });
}

}  // namespace

// y = x w^T + b;  dx = dy w, dw = dy^T x, db = column sums of dy
Var linear(const Var& x, const Var& w, const Var& b, WeightLayout layout) {
  const OpScope op("linear");
  TARE_CHECK(x.dim() >= 1 && w.dim() == 2, "linear: x has shape ", x.shape(), ", w has shape ", w.shape());
  const Tensor in = as_rows(x.value()), weight = matrix_view(w.value());
  const Tensor bias = b.defined() ? b.value().contiguous() : Tensor();
  Shape shape = x.shape();
  shape[shape.dim() - 1] = as_out_in(weight, layout).size(0);
  Tensor y = Tensor::empty(shape, {x.dtype(), x.device(), {}});
  Tensor rows = as_rows(y);
  kernels::linear_forward(in, as_out_in(weight, layout), bias, kernels::Activation::none, rows);
  return record("linear", y, {x, w, b},
                {w.requires_grad() ? in : Tensor(), x.requires_grad() ? weight : Tensor()},
                [layout](GradOut& out, Saved& saved, const Tensor& dy) {
                  const Tensor dy_rows = as_rows(dy);
                  if (out.needs(0)) {
                    auto [dx, accum] = out(0);
                    Tensor dx_rows = as_rows(dx);
                    kernels::linear_backward_input(dy_rows, as_out_in(saved[1], layout), dx_rows, accum);
                  }
                  if (out.needs(1)) {
                    auto [dw, accum] = out(1);
                    Tensor dw_out_in = as_out_in(dw, layout);
                    kernels::linear_backward_weight(dy_rows, saved[0], dw_out_in, accum);
                  }
                  if (out.needs(2)) {
                    auto [db, accum] = out(2);
                    kernels::linear_backward_bias(dy_rows, db, accum);
                  }
                });
}

Var matmul(const Var& a, const Var& b) {
  TARE_CHECK(a.dim() >= 2 && b.dim() >= 2, "matmul: shapes ", a.shape(), " and ", b.shape(),
             ", expected at least two axes each");
  // One product over all rows of a, and no sum over leading axes for the gradient of b.
  if (b.dim() == 2 && a.dim() > 2) return linear(a, b, {}, WeightLayout::in_out);
  return matmul_batched(a, b);
}

Var bmm(const Var& a, const Var& b) {
  TARE_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0), "bmm: shapes ", a.shape(), " and ",
             b.shape(), ", expected (B, M, K) and (B, K, N)");
  return matmul_batched(a, b);
}

}  // namespace tare
