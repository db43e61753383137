// SPDX-License-Identifier: Apache-2.0
// Reductions over axes.
#include "tare/kernels/reduce.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"
#include "tare/kernels/elementwise.h"

namespace tare {
namespace {

// The shape with 1 along the axes, all of them where none is named.
Shape reduced_shape(const char* op, const Shape& shape, const Axes& axes) {
  Shape reduced = shape;
  std::array<bool, kMaxDims> seen{};
  for (const int axis : axes) {
    const int at = normalize_axis(axis, shape.dim(), op);
    TARE_CHECK(!seen[size_t(at)], op, ": axis ", axis, " is named twice");
    seen[size_t(at)] = true;
    reduced[at] = 1;
  }
  for (int i = 0; i < shape.dim() && axes.empty(); ++i) reduced[i] = 1;
  return reduced;
}

// What the caller sees of a result with ones along the axes.
Shape result_shape(const Shape& shape, const Shape& reduced, const Axes& axes, bool keepdim) {
  if (keepdim) return reduced;
  Shape dropped;
  for (int i = 0; i < shape.dim(); ++i) {
    bool drop = axes.empty();
    for (const int axis : axes) drop = drop || normalize_axis(axis, shape.dim(), "reduce") == i;
    if (!drop) dropped.push_back(shape[i]);
  }
  return dropped;
}

int64_t elements_per_result(const Shape& shape, const Shape& reduced) {
  int64_t count = 1;
  for (int i = 0; i < shape.dim(); ++i)
    if (reduced[i] != shape[i]) count *= shape[i];
  return count;
}

Tensor accumulator(const Shape& shape, const Tensor& x) {
  return Tensor::empty(shape, {x.dtype() == DType::f64 ? DType::f64 : DType::f32, x.device(), {}});
}

Var extremum(const char* name, kernels::Extremum which, const Var& x, const Axes& axes, bool keepdim) {
  const OpScope op(name);
  const Shape reduced = reduced_shape(name, x.shape(), axes);
  Tensor y = Tensor::empty(reduced, {x.dtype(), x.device(), {}});
  kernels::extremum_forward(which, x.value(), y);
  Tensor seen = y.view(result_shape(x.shape(), reduced, axes, keepdim));
  return record(name, seen, {x}, {x.value(), y}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    const Shape& shape = saved[1].shape();
    Tensor ties;
    {
      const CategoryScope category(Category::workspace);
      ties = accumulator(shape, saved[0]);
    }
    auto [dx, accum] = out(0);
    kernels::extremum_backward(saved[0], saved[1], dy.view(shape), ties, dx, accum);
  });
}

}  // namespace

// y = sum of x;  dx = dy, repeated
Var sum(const Var& x, const Axes& axes, bool keepdim) {
  const OpScope op("sum");
  const Shape reduced = reduced_shape("sum", x.shape(), axes);
  Tensor y = Tensor::empty(reduced, {x.dtype(), x.device(), {}});
  kernels::sum_to(x.value(), y, Accum::set);
  const Tensor seen = y.view(result_shape(x.shape(), reduced, axes, keepdim));
  return record("sum", seen, {x}, {}, [reduced](GradOut& out, Saved&, const Tensor& dy) {
    out.give(0, dy.view(reduced).expand(out.shape(0)));
  });
}

// y = sum of x / count;  dx = dy / count, repeated
Var mean(const Var& x, const Axes& axes, bool keepdim) {
  const OpScope op("mean");
  const Shape reduced = reduced_shape("mean", x.shape(), axes);
  Tensor y = Tensor::empty(reduced, {x.dtype(), x.device(), {}});
  kernels::mean_forward(x.value(), y);
  const Tensor seen = y.view(result_shape(x.shape(), reduced, axes, keepdim));
  return record("mean", seen, {x}, {}, [reduced](GradOut& out, Saved&, const Tensor& dy) {
    const double count = double(elements_per_result(out.shape(0), reduced));
    Tensor share = Tensor::empty(reduced, {dy.dtype(), dy.device(), {}});
    kernels::unary_forward(dy.view(reduced), share, math::DivScalar{count});
    out.give(0, share.expand(out.shape(0)));
  });
}

// dx = dy shared by the elements that are the largest (smallest), or by the NaN where there are any
Var max(const Var& x, const Axes& axes, bool keepdim) {
  return extremum("max", kernels::Extremum::max, x, axes, keepdim);
}
Var min(const Var& x, const Axes& axes, bool keepdim) {
  return extremum("min", kernels::Extremum::min, x, axes, keepdim);
}

// y = sum of (x - mean)^2 / (count - correction);  dx = 2 (x - mean) / (count - correction) dy
Var variance(const Var& x, const Axes& axes, bool unbiased, bool keepdim) {
  const OpScope op("variance");
  const Shape reduced = reduced_shape("variance", x.shape(), axes);
  const int64_t correction = unbiased ? 1 : 0;
  Tensor y = Tensor::empty(reduced, {x.dtype(), x.device(), {}});
  Tensor mean = accumulator(reduced, x.value());
  kernels::variance_forward(x.value(), correction, mean, y);
  const Tensor seen = y.view(result_shape(x.shape(), reduced, axes, keepdim));
  return record(
      "variance", seen, {x}, {x.value(), mean}, [correction](GradOut& out, Saved& saved, const Tensor& dy) {
        auto [dx, accum] = out(0);
        kernels::variance_backward(saved[0], saved[1], dy.view(saved[1].shape()), correction, dx, accum);
      });
}

}  // namespace tare
