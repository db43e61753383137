// SPDX-License-Identifier: Apache-2.0
// Operations of two Vars, comparisons, where. Formulas and derivatives: kernels/functors.h.
#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"
#include "tare/kernels/elementwise.h"

namespace tare {
namespace {

// Hands dy on to input i, whose dtype may differ; it is summed over the axes along which i was broadcast.
void pass_on(GradOut& out, size_t i, const Tensor& dy, DType dtype) {
  if (dy.dtype() == dtype) return out.give(i, dy);
  auto [dx, accum] = out(i);
  kernels::sum_to(dy, dx, accum);
}

template <class F> Tensor binary_value(const Var& a, const Var& b) {
  Tensor y = Tensor::empty(broadcast_shapes(a.shape(), b.shape(), F::kName),
                           {promote(a.dtype(), b.dtype()), a.device(), {}});
  kernels::binary_forward<F>(a.value(), b.value(), y);
  return y;
}

// y = f(a, b);  da = df/da dy, db = df/db dy, from what of a and b the functor reads
template <class F> Var binary(const Var& a, const Var& b) {
  const OpScope op(F::kName);
  const Tensor y = binary_value<F>(a, b);
  const bool da = a.requires_grad(), db = b.requires_grad();
  const Tensor saved_a = (da && F::kANeeds.a) || (db && F::kBNeeds.a) ? a.value() : Tensor();
  const Tensor saved_b = (da && F::kANeeds.b) || (db && F::kBNeeds.b) ? b.value() : Tensor();
  return record(F::kName, y, {a, b}, {saved_a, saved_b}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    for (const kernels::Side side : {kernels::Side::a, kernels::Side::b}) {
      if (!out.needs(size_t(side))) continue;
      auto [dx, accum] = out(size_t(side), dy.shape());
      kernels::binary_backward<F>(side, saved[0], saved[1], dy, dx, accum);
    }
  });
}

template <class F> Tensor comparison(const Tensor& a, const Tensor& b) {
  const OpScope op(F::kName);
  Tensor y =
      Tensor::empty(broadcast_shapes(a.shape(), b.shape(), F::kName), {DType::boolean, a.device(), {}});
  kernels::compare<F>(a, b, y);
  return y;
}

}  // namespace

// y = a + b;  da = db = dy, handed over
Var operator+(const Var& a, const Var& b) {
  const OpScope op("add");
  const Tensor y = binary_value<math::Add>(a, b);
  return record("add", y, {a, b}, {},
                [da = a.dtype(), db = b.dtype()](GradOut& out, Saved&, const Tensor& dy) {
                  if (out.needs(0)) pass_on(out, 0, dy, da);
                  if (out.needs(1)) pass_on(out, 1, dy, db);
                });
}

// y = a - b;  da = dy, handed over, db = -dy
Var operator-(const Var& a, const Var& b) {
  const OpScope op("sub");
  const Tensor y = binary_value<math::Sub>(a, b);
  return record("sub", y, {a, b}, {}, [da = a.dtype()](GradOut& out, Saved&, const Tensor& dy) {
    if (out.needs(0)) pass_on(out, 0, dy, da);
    if (!out.needs(1)) return;
    auto [db, accum] = out(1, dy.shape());
    kernels::binary_backward<math::Sub>(kernels::Side::b, {}, {}, dy, db, accum);
  });
}

Var operator*(const Var& a, const Var& b) { return binary<math::Mul>(a, b); }
Var operator/(const Var& a, const Var& b) { return binary<math::Div>(a, b); }
Var pow(const Var& a, const Var& b) { return binary<math::Pow>(a, b); }
Var maximum(const Var& a, const Var& b) { return binary<math::Maximum>(a, b); }
Var minimum(const Var& a, const Var& b) { return binary<math::Minimum>(a, b); }

Tensor equal(const Tensor& a, const Tensor& b) { return comparison<math::Equal>(a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return comparison<math::NotEqual>(a, b); }
Tensor less(const Tensor& a, const Tensor& b) { return comparison<math::Less>(a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return comparison<math::LessEqual>(a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return comparison<math::Greater>(a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return comparison<math::GreaterEqual>(a, b); }

// y = mask ? a : b;  da = mask ? dy : 0, db = mask ? 0 : dy
Var where(const Tensor& mask, const Var& a, const Var& b) {
  const OpScope op("where");
  const Shape shape =
      broadcast_shapes(mask.shape(), broadcast_shapes(a.shape(), b.shape(), "where"), "where");
  const bool same = a.dtype() == b.dtype();
  Tensor y = Tensor::empty(shape, {same ? a.dtype() : promote(a.dtype(), b.dtype()), a.device(), {}});
  kernels::where_forward(mask, a.value(), b.value(), y);
  return record("where", y, {a, b}, {mask}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    for (size_t i = 0; i < 2; ++i) {
      if (!out.needs(i)) continue;
      auto [dx, accum] = out(i, dy.shape());
      kernels::where_backward(saved[0], i == 0, dy, dx, accum);
    }
  });
}

// y = mask ? value : x;  dx = mask ? 0 : dy
Var masked_fill(const Var& x, const Tensor& mask, double value) {
  const OpScope op("masked_fill");
  TARE_CHECK(broadcast_shapes(mask.shape(), x.shape(), "masked_fill") == x.shape(), "masked_fill: mask ",
             mask.shape(), " does not broadcast to ", x.shape());
  Tensor y = Tensor::empty(x.shape(), {x.dtype(), x.device(), {}});
  const Tensor filling = Tensor::full({}, value, {x.dtype(), x.device(), {}});
  kernels::where_forward(mask, filling, x.value(), y);
  return record("masked_fill", y, {x}, {mask}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::where_backward(saved[0], false, dy, dx, accum);
  });
}

}  // namespace tare
