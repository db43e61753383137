// SPDX-License-Identifier: Apache-2.0
// Picking elements by index.
#include "tare/kernels/index.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"

namespace tare {

// y[.., j, ..] = x[.., index[.., j, ..], ..];  dx[.., index[.., j, ..], ..] += dy[.., j, ..]
Var gather(const Var& x, int axis, const Tensor& index) {
  const OpScope op("gather");
  axis = normalize_axis(axis, x.dim(), "gather");
  const Tensor dense = index.contiguous();
  Tensor y = Tensor::empty(index.shape(), {x.dtype(), x.device(), {}});
  kernels::gather_forward(x.value(), axis, dense, y);
  return record("gather", y, {x}, {dense}, [axis](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::gather_backward(axis, saved[0], dy, dx, accum);
  });
}

// y[.., j, ..] = x[.., index[j], ..];  dx[.., index[j], ..] += dy[.., j, ..]
Var index_select(const Var& x, int axis, const Tensor& index) {
  const OpScope op("index_select");
  axis = normalize_axis(axis, x.dim(), "index_select");
  const Tensor dense = index.contiguous();
  Shape shape = x.shape();
  shape[axis] = index.numel();
  Tensor y = Tensor::empty(shape, {x.dtype(), x.device(), {}});
  kernels::index_select_forward(x.value().contiguous(), axis, dense, y);
  return record("index_select", y, {x}, {dense}, [axis](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::index_select_backward(axis, saved[0], dy, dx, accum);
  });
}

}  // namespace tare
