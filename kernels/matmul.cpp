// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/matmul.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

Shape leading(const Tensor& t) { return Shape(std::span(t.shape().begin(), size_t(t.dim() - 2))); }

void check_operand(const char* what, const Tensor& t, const Tensor& model) {
  check_floating("matmul", what, t);
  check_same_device("matmul", what, t, model.device());
  TARE_CHECK(t.dim() >= 2, "matmul: ", what, " has shape ", t.shape(), ", expected at least two axes");
  TARE_CHECK(is_matrix_view(t), "matmul: ", what, " of shape ", t.shape(), " has strides ", t.strides(),
             "; one of the last two must be 1");
}

}  // namespace

bool is_matrix_view(const Tensor& t) {
  if (t.dim() < 2 || t.numel() == 0) return t.dim() >= 2;
  const int64_t rows = t.size(-2), cols = t.size(-1), row = t.stride(-2), col = t.stride(-1);
  const auto dense = [](int64_t n, int64_t stride, int64_t m, int64_t outer) {
    return (n == 1 || stride == 1) && (m == 1 || outer >= n);
  };
  return dense(cols, col, rows, row) || dense(rows, row, cols, col);
}

void matmul(const Tensor& a, const Tensor& b, Tensor& c, Accum accum) {
  check_operand("a", a, a);
  check_operand("b", b, a);
  check_operand("c", c, a);
  check_same_dtype("matmul", "b", b, a.dtype());
  if (!(is_half(a.dtype()) && c.dtype() == DType::f32)) check_same_dtype("matmul", "c", c, a.dtype());
  TARE_CHECK(a.size(-1) == b.size(-2), "matmul: shapes ", a.shape(), " and ", b.shape(), " do not fit");
  Shape expected = broadcast_shapes(leading(a), leading(b), "matmul");
  expected.push_back(a.size(-2));
  expected.push_back(b.size(-1));
  check_same_shape("matmul", "c", c, expected);
  const double flops = 2 * double(c.numel()) * double(a.size(-1));
  const double written = double(c.nbytes()) * (accum == Accum::add ? 2 : 1);
  TARE_DISPATCH_CPU(a.device(), (Cost{flops, double(a.nbytes() + b.nbytes()) + written}),
                    matmul(a, b, c, accum));
}

}  // namespace tare::kernels
