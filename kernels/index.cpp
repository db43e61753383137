// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/index.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

void check_index(const char* op, const Tensor& index, const Tensor& x, int axis) {
  TARE_CHECK(x.defined(), op, ": the tensor that is indexed is undefined");
  TARE_CHECK(index.defined(), op, ": index is undefined");
  TARE_CHECK(axis >= 0 && axis < x.dim(), op, ": axis ", axis, " of shape ", x.shape());
  TARE_CHECK(index.dtype() == DType::i64 || index.dtype() == DType::i32 || index.dtype() == DType::u8, op,
             ": index is ", index.dtype(), ", expected i64, i32 or u8");
  check_contiguous(op, "index", index);
  check_same_device(op, "index", index, x.device());
}

// index has the rank of x and fits into it beside the axis; y is like index.
void check_gather(const char* op, const Tensor& index, const Tensor& x, int axis, const char* name,
                  const Tensor& y) {
  check_index(op, index, x, axis);
  bool fits = index.dim() == x.dim();
  for (int i = 0; i < x.dim() && fits; ++i) fits = i == axis || index.shape()[i] <= x.shape()[i];
  TARE_CHECK(fits, op, ": index of shape ", index.shape(), " does not fit into ", x.shape(), " beside axis ",
             axis);
  check_same_shape(op, name, y, index.shape());
  check_same_device(op, name, y, x.device());
  check_contiguous(op, name, y);
}

void check_select(const char* op, const Tensor& index, const Tensor& x, int axis, const char* name,
                  const Tensor& y) {
  check_index(op, index, x, axis);
  TARE_CHECK(index.dim() == 1, op, ": index has shape ", index.shape(), ", expected one axis");
  Shape expected = x.shape();
  expected[axis] = index.numel();
  check_same_shape(op, name, y, expected);
  check_same_device(op, name, y, x.device());
  check_contiguous(op, name, y);
}

void check_gradients(const char* op, const Tensor& dy, const Tensor& dx) {
  check_floating(op, "dy", dy);
  check_floating(op, "dx", dx);
  TARE_CHECK(dx.dtype() == dy.dtype() || (is_half(dy.dtype()) && dx.dtype() == DType::f32), op, ": dx is ",
             dx.dtype(), ", expected ", dy.dtype(), is_half(dy.dtype()) ? " or f32" : "");
}

// The index is read twice: to check it, and to follow it.
Cost forward_cost(const Tensor& index, const Tensor& y) {
  return {0, 2 * double(index.nbytes()) + 2 * double(y.nbytes())};
}

// Under set all of dx is written first; each element of dy is then added to one of dx.
Cost backward_cost(const Tensor& index, const Tensor& dy, const Tensor& dx, Accum accum) {
  const double added = 2 * double(dy.numel() * size_of(dx.dtype()));
  const double cleared = accum == Accum::set ? double(dx.nbytes()) : 0;
  return {double(dy.numel()), 2 * double(index.nbytes()) + double(dy.nbytes()) + added + cleared};
}

}  // namespace

void gather_forward(const Tensor& x, int axis, const Tensor& index, Tensor& y) {
  check_gather("gather_forward", index, x, axis, "y", y);
  check_same_dtype("gather_forward", "y", y, x.dtype());
  TARE_DISPATCH_CPU(x.device(), forward_cost(index, y), gather_forward(x, axis, index, y));
}

void gather_backward(int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum) {
  check_gather("gather_backward", index, dx, axis, "dy", dy);
  check_gradients("gather_backward", dy, dx);
  TARE_DISPATCH_CPU(dx.device(), backward_cost(index, dy, dx, accum),
                    gather_backward(axis, index, dy, dx, accum));
}

void index_select_forward(const Tensor& x, int axis, const Tensor& index, Tensor& y) {
  check_select("index_select_forward", index, x, axis, "y", y);
  check_contiguous("index_select_forward", "x", x);
  check_same_dtype("index_select_forward", "y", y, x.dtype());
  TARE_DISPATCH_CPU(x.device(), forward_cost(index, y), index_select_forward(x, axis, index, y));
}

void index_select_backward(int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum) {
  check_select("index_select_backward", index, dx, axis, "dy", dy);
  check_contiguous("index_select_backward", "dx", dx);
  check_gradients("index_select_backward", dy, dx);
  TARE_DISPATCH_CPU(dx.device(), backward_cost(index, dy, dx, accum),
                    index_select_backward(axis, index, dy, dx, accum));
}

}  // namespace tare::kernels
