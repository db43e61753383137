// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/linear.h"

#include "tare/kernels/check.h"
#include "tare/kernels/matmul.h"

namespace tare::kernels {
namespace {

void check_matrix(const char* op, const char* what, const Tensor& t, const Shape& shape,
                  const Tensor& model) {
  check_floating(op, what, t);
  check_same_shape(op, what, t, shape);
  check_same_device(op, what, t, model.device());
  TARE_CHECK(is_matrix_view(t), op, ": ", what, " of shape ", shape, " has strides ", t.strides(),
             "; one of the two must be 1");
}

// The gradient of a half-precision parameter may be f32.
void check_gradient_dtype(const char* op, const char* what, const Tensor& t, DType dtype) {
  if (!(is_half(dtype) && t.dtype() == DType::f32)) check_same_dtype(op, what, t, dtype);
}

void check_dense_rows(const char* op, const char* what, const Tensor& t) {
  TARE_CHECK(t.numel() == 0 || t.size(1) == 1 || t.stride(1) == 1, op, ": ", what, " of shape ", t.shape(),
             " has strides ", t.strides(), "; its rows must be dense");
}

void check_rank(const char* op, const char* what, const Tensor& t) {
  TARE_CHECK(t.defined() && t.dim() == 2, op, ": ", what, " must have two axes");
}

double bytes_of(const Tensor& a, const Tensor& b, const Tensor& out, Accum accum) {
  return double(a.nbytes()) + double(b.nbytes()) + double(out.nbytes()) * (accum == Accum::add ? 2 : 1);
}

}  // namespace

void linear_forward(const Tensor& x, const Tensor& w, const Tensor& bias, Activation activation, Tensor& y) {
  const char* op = "linear_forward";
  check_rank(op, "x", x);
  check_rank(op, "w", w);
  const int64_t N = x.size(0), in = x.size(1), out = w.size(0);
  check_matrix(op, "x", x, {N, in}, x);
  check_matrix(op, "w", w, {out, in}, x);
  check_matrix(op, "y", y, {N, out}, x);
  check_dense_rows(op, "y", y);
  check_same_dtype(op, "w", w, x.dtype());
  check_same_dtype(op, "y", y, x.dtype());
  if (bias.defined()) {
    check_same_shape(op, "bias", bias, {out});
    check_same_dtype(op, "bias", bias, x.dtype());
    check_same_device(op, "bias", bias, x.device());
    check_contiguous(op, "bias", bias);
  }
  const double flops = 2 * double(N) * double(in) * double(out) + (bias.defined() ? double(y.numel()) : 0);
  const double bytes = bytes_of(x, w, y, Accum::set) + (bias.defined() ? double(bias.nbytes()) : 0);
  TARE_DISPATCH_CPU(x.device(), (Cost{flops, bytes}), linear_forward(x, w, bias, activation, y));
}

void linear_backward_input(const Tensor& dy, const Tensor& w, Tensor& dx, Accum accum) {
  const char* op = "linear_backward_input";
  check_rank(op, "dy", dy);
  check_rank(op, "w", w);
  check_matrix(op, "dy", dy, {dy.size(0), w.size(0)}, dy);
  check_matrix(op, "w", w, w.shape(), dy);
  check_matrix(op, "dx", dx, {dy.size(0), w.size(1)}, dy);
  check_same_dtype(op, "w", w, dy.dtype());
  check_gradient_dtype(op, "dx", dx, dy.dtype());
  const double flops = 2 * double(dy.numel()) * double(w.size(1));
  TARE_DISPATCH_CPU(dy.device(), (Cost{flops, bytes_of(dy, w, dx, accum)}), matmul(dy, w, dx, accum));
}

void linear_backward_weight(const Tensor& dy, const Tensor& x, Tensor& dw, Accum accum) {
  const char* op = "linear_backward_weight";
  check_rank(op, "dy", dy);
  check_rank(op, "x", x);
  check_matrix(op, "dy", dy, {x.size(0), dy.size(1)}, dy);
  check_matrix(op, "x", x, x.shape(), dy);
  check_matrix(op, "dw", dw, {dy.size(1), x.size(1)}, dy);
  check_same_dtype(op, "x", x, dy.dtype());
  check_gradient_dtype(op, "dw", dw, dy.dtype());
  const double flops = 2 * double(dy.numel()) * double(x.size(1));
  TARE_DISPATCH_CPU(dy.device(), (Cost{flops, bytes_of(dy, x, dw, accum)}),
                    matmul(dy.transpose(0, 1), x, dw, accum));
}

void linear_backward_bias(const Tensor& dy, Tensor& dbias, Accum accum) {
  const char* op = "linear_backward_bias";
  check_rank(op, "dy", dy);
  check_matrix(op, "dy", dy, dy.shape(), dy);
  check_dense_rows(op, "dy", dy);
  check_floating(op, "dbias", dbias);
  check_same_shape(op, "dbias", dbias, {dy.size(1)});
  check_same_device(op, "dbias", dbias, dy.device());
  check_contiguous(op, "dbias", dbias);
  const double written = double(dbias.nbytes()) * (accum == Accum::add ? 2 : 1);
  TARE_DISPATCH_CPU(dy.device(), (Cost{double(dy.numel()), double(dy.nbytes()) + written}),
                    linear_backward_bias(dy, dbias, accum));
}

}  // namespace tare::kernels
