// SPDX-License-Identifier: Apache-2.0
// Views, joining, and changes of dtype. A view's gradient is a view of dy wherever that is possible.
#include <algorithm>

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"
#include "tare/kernels/join.h"

namespace tare {
namespace {

// y = the elements of x in another shape, in row-major order;  dx = dy in x's shape
Var reshaped(const char* name, const Var& x, Tensor y) {
  return record(name, std::move(y), {x}, {},
                [shape = x.shape()](GradOut& out, Saved&, const Tensor& dy) { out.give(0, dy.view(shape)); });
}

// y = part of x;  dx = 0 but dy there. `part` finds the same part in dx.
template <class Part> Var part_of(const char* name, const Var& x, Part part) {
  return record(name, part(x.value()), {x}, {}, [part](GradOut& out, Saved&, const Tensor& dy) {
    auto [dx, accum] = out(0);
    if (accum == Accum::set) fill(dx, 0);
    Tensor there = part(dx);
    kernels::accumulate(dy, there, accum);
  });
}

}  // namespace

Var view(const Var& x, const Shape& shape) {
  const OpScope op("view");
  return reshaped("view", x, x.value().view(shape));
}

Var reshape(const Var& x, const Shape& shape) {
  const OpScope op("reshape");
  return reshaped("reshape", x, x.value().reshape(shape));
}

Var unsqueeze(const Var& x, int axis) { return reshaped("unsqueeze", x, x.value().unsqueeze(axis)); }
Var squeeze(const Var& x, int axis) { return reshaped("squeeze", x, x.value().squeeze(axis)); }

Var contiguous(const Var& x) {
  const OpScope op("contiguous");
  if (x.value().is_contiguous()) return x;
  return reshaped("contiguous", x, x.value().contiguous());
}

Var transpose(const Var& x, int a, int b) {
  return record("transpose", x.value().transpose(a, b), {x}, {},
                [a, b](GradOut& out, Saved&, const Tensor& dy) { out.give(0, dy.transpose(a, b)); });
}

Var permute(const Var& x, const std::vector<int>& order) {
  Tensor y = x.value().permute(order);
  std::vector<int> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[size_t(normalize_axis(order[i], x.dim(), "permute"))] = int(i);
  return record("permute", std::move(y), {x}, {},
                [inverse](GradOut& out, Saved&, const Tensor& dy) { out.give(0, dy.permute(inverse)); });
}

// dx = dy summed over the repeated axes
Var expand(const Var& x, const Shape& shape) {
  return record("expand", x.value().expand(shape), {x}, {},
                [](GradOut& out, Saved&, const Tensor& dy) { out.give(0, dy); });
}

Var slice(const Var& x, int axis, int64_t begin, int64_t end, int64_t step) {
  return part_of("slice", x, [=](const Tensor& t) { return t.slice(axis, begin, end, step); });
}

Var select(const Var& x, int axis, int64_t index) {
  return part_of("select", x, [=](const Tensor& t) { return t.select(axis, index); });
}

// y = x in another floating dtype;  dx = dy in x's
Var to(const Var& x, DType dtype) {
  const OpScope op("to");
  if (dtype == x.dtype()) return x;
  TARE_CHECK(is_floating(dtype) || !x.requires_grad(), "to: a gradient cannot pass through ", dtype);
  return record("to", x.value().to(dtype), {x}, {}, [](GradOut& out, Saved&, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::accumulate(dy, dx, accum);
  });
}

// y = the xs one after the other along an axis;  each dx = its part of dy
Var cat(const Vars& xs, int axis) {
  const OpScope op("cat");
  TARE_CHECK(!xs.empty(), "cat: no inputs");
  axis = normalize_axis(axis, xs[0].dim(), "cat");
  Shape shape = xs[0].shape();
  DType dtype = xs[0].dtype();
  std::vector<Tensor> values{xs[0].value()};
  for (size_t i = 1; i < xs.size(); ++i) {
    TARE_CHECK(xs[i].dim() == shape.dim(), "cat: shapes ", xs[0].shape(), " and ", xs[i].shape());
    shape[axis] += xs[i].shape()[axis];
    if (xs[i].dtype() != dtype) dtype = promote(dtype, xs[i].dtype());
    values.push_back(xs[i].value());
  }
  Tensor y = Tensor::empty(shape, {dtype, xs[0].device(), {}});
  kernels::cat_forward(values, axis, y);
  return record("cat", y, xs, {}, [axis, n = xs.size()](GradOut& out, Saved&, const Tensor& dy) {
    int64_t begin = 0;
    for (size_t i = 0; i < n; ++i) {
      const int64_t end = begin + out.shape(i)[axis];
      if (out.needs(i)) {
        auto [dx, accum] = out(i);
        kernels::accumulate(dy.slice(axis, begin, end), dx, accum);
      }
      begin = end;
    }
  });
}

Var stack(const Vars& xs, int axis) {
  TARE_CHECK(!xs.empty(), "stack: no inputs");
  axis = normalize_axis(axis, xs[0].dim() + 1, "stack");
  Vars wide;
  for (const Var& x : xs) {
    TARE_CHECK(x.shape() == xs[0].shape(), "stack: shapes ", xs[0].shape(), " and ", x.shape(), " differ");
    wide.push_back(unsqueeze(x, axis));
  }
  return cat(wide, axis);
}

std::vector<Var> split(const Var& x, int axis, const std::vector<int64_t>& sizes) {
  std::vector<Var> parts;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    TARE_CHECK(size >= 0, "split: size ", size);
    parts.push_back(slice(x, axis, begin, begin + size));
    begin += size;
  }
  TARE_CHECK(begin == x.size(axis), "split: sizes sum to ", begin, ", the axis has ", x.size(axis));
  return parts;
}

}  // namespace tare
