// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/extremes.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

// t: `shape`, contiguous, on x's device.
void check_result(const char* op, const char* what, const Tensor& t, const Shape& shape, DType dtype,
                  const Tensor& x) {
  check_same_shape(op, what, t, shape);
  check_same_dtype(op, what, t, dtype);
  check_same_device(op, what, t, x.device());
  check_contiguous(op, what, t);
}

}  // namespace

void arg_extremum(Extremum which, const Tensor& x, int axis, Tensor& indices) {
  TARE_CHECK(x.defined(), "arg_extremum: x is undefined");
  TARE_CHECK(axis >= 0 && axis < x.dim(), "arg_extremum: axis ", axis, " of shape ", x.shape());
  TARE_CHECK(x.shape()[axis] > 0, "arg_extremum: x of shape ", x.shape(),
             " has no element to choose on axis ", axis);
  check_contiguous("arg_extremum", "x", x);
  Shape expected = x.shape();
  expected[axis] = 1;
  check_result("arg_extremum", "indices", indices, expected, DType::i64, x);
  const Cost cost{double(x.numel()), double(x.nbytes() + indices.nbytes())};
  TARE_DISPATCH_CPU(x.device(), cost, arg_extremum(which, x, axis, indices));
}

void topk(const Tensor& x, Tensor& values, Tensor& indices) {
  TARE_CHECK(x.defined() && x.dim() >= 1, "topk: x needs at least one axis");
  TARE_CHECK(values.defined() && values.dim() == x.dim(), "topk: values and x differ in dimensions");
  const int64_t k = values.size(-1), n = x.size(-1);
  TARE_CHECK(k <= n, "topk: k is ", k, ", but x of shape ", x.shape(), " has ", n, " elements per row");
  check_contiguous("topk", "x", x);
  Shape expected = x.shape();
  expected[x.dim() - 1] = k;
  check_result("topk", "values", values, expected, x.dtype(), x);
  check_result("topk", "indices", indices, expected, DType::i64, x);
  // Each element is compared with the least of those kept; few are taken up, in log2(k) steps.
  const double bytes = double(x.nbytes() + values.nbytes() + indices.nbytes());
  TARE_DISPATCH_CPU(x.device(), (Cost{double(x.numel()), bytes}), topk(x, values, indices));
}

}  // namespace tare::kernels
