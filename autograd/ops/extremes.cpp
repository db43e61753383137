// SPDX-License-Identifier: Apache-2.0
// The largest and smallest elements along an axis, and where they are.
#include "tare/kernels/extremes.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/index.h"

namespace tare {
namespace {

// Positions along the axis, which is kept with extent 1.
Tensor positions(const char* name, kernels::Extremum which, const Tensor& x, int axis) {
  TARE_CHECK(x.shape()[axis] > 0, name, ": shape ", x.shape(), " has no element to choose on axis ", axis);
  Shape shape = x.shape();
  shape[axis] = 1;
  Tensor indices = Tensor::empty(shape, {DType::i64, x.device(), {}});
  kernels::arg_extremum(which, x.contiguous(), axis, indices);
  return indices;
}

Tensor arg_extremum(const char* name, kernels::Extremum which, const Tensor& x, int axis, bool keepdim) {
  const OpScope op(name);
  axis = normalize_axis(axis, x.dim(), name);
  const Tensor indices = positions(name, which, x, axis);
  return keepdim ? indices : indices.squeeze(axis);
}

Ranked extremum_with_index(const char* name, kernels::Extremum which, const Var& x, int axis, bool keepdim) {
  const OpScope op(name);
  axis = normalize_axis(axis, x.dim(), name);
  const Tensor indices = positions(name, which, x.value(), axis);
  const Var values = gather(x, axis, indices);
  if (keepdim) return {values, indices};
  return {squeeze(values, axis), indices.squeeze(axis)};
}

}  // namespace

Tensor argmax(const Tensor& x, int axis, bool keepdim) {
  return arg_extremum("argmax", kernels::Extremum::max, x, axis, keepdim);
}
Tensor argmin(const Tensor& x, int axis, bool keepdim) {
  return arg_extremum("argmin", kernels::Extremum::min, x, axis, keepdim);
}

Ranked max_with_index(const Var& x, int axis, bool keepdim) {
  return extremum_with_index("max_with_index", kernels::Extremum::max, x, axis, keepdim);
}
Ranked min_with_index(const Var& x, int axis, bool keepdim) {
  return extremum_with_index("min_with_index", kernels::Extremum::min, x, axis, keepdim);
}

// values = the k largest of x, at indices;  dx[indices] = dvalues
Ranked topk(const Var& x, int64_t k, int axis) {
  const OpScope op("topk");
  axis = normalize_axis(axis, x.dim(), "topk");
  TARE_CHECK(k >= 0 && k <= x.size(axis), "topk: k is ", k, ", but axis ", axis, " of shape ", x.shape(),
             " has ", x.size(axis), " elements");
  const int last = x.dim() - 1;
  const Tensor rows = x.value().transpose(axis, last).contiguous();
  Shape shape = rows.shape();
  shape[last] = k;
  Tensor values = Tensor::empty(shape, {x.dtype(), x.device(), {}});
  Tensor indices = Tensor::empty(shape, {DType::i64, x.device(), {}});
  kernels::topk(rows, values, indices);
  values = values.transpose(axis, last).contiguous();
  indices = indices.transpose(axis, last).contiguous();
  Var ranked = record("topk", values, {x}, {indices}, [axis](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::gather_backward(axis, saved[0], dy, dx, accum);
  });
  return {std::move(ranked), std::move(indices)};
}

}  // namespace tare
