// SPDX-License-Identifier: Apache-2.0
// Elementwise operations of one Var. Formulas and derivatives: kernels/functors.h.
#include "tare/kernels/elementwise.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"

namespace tare {
namespace {

// y = f(x);  dx = f'(x) dy, from x or y, whichever the functor reads
template <class F> Var unary(const Var& x, F f = {}) {
  const OpScope op(F::kName);
  TARE_CHECK(is_floating(x.dtype()), F::kName, ": needs a floating dtype, got ", x.dtype());
  Tensor y = Tensor::empty(x.shape(), {x.dtype(), x.device(), {}});
  kernels::unary_forward(x.value(), y, f);
  const Tensor saved_x = F::kNeeds == math::Needs::x ? x.value() : Tensor();
  const Tensor saved_y = F::kNeeds == math::Needs::y ? y : Tensor();
  return record(F::kName, y, {x}, {saved_x, saved_y}, [f](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::unary_backward(saved[0], saved[1], dy, dx, accum, f);
  });
}

}  // namespace

Var abs(const Var& x) { return unary<math::Abs>(x); }
Var square(const Var& x) { return unary<math::Square>(x); }
Var reciprocal(const Var& x) { return unary<math::Reciprocal>(x); }
Var exp(const Var& x) { return unary<math::Exp>(x); }
Var log(const Var& x) { return unary<math::Log>(x); }
Var sqrt(const Var& x) { return unary<math::Sqrt>(x); }
Var rsqrt(const Var& x) { return unary<math::Rsqrt>(x); }
Var tanh(const Var& x) { return unary<math::Tanh>(x); }
Var erf(const Var& x) { return unary<math::Erf>(x); }
Var sigmoid(const Var& x) { return unary<math::Sigmoid>(x); }
Var relu(const Var& x) { return unary<math::Relu>(x); }
Var silu(const Var& x) { return unary<math::Silu>(x); }
Var gelu_tanh(const Var& x) { return unary<math::GeluTanh>(x); }
Var gelu_erf(const Var& x) { return unary<math::GeluErf>(x); }
Var pow(const Var& x, double exponent) { return unary(x, math::PowScalar{exponent}); }
Var clamp(const Var& x, double low, double high) {
  TARE_CHECK(low <= high, "clamp: low ", low, " is above high ", high);
  return unary(x, math::Clamp{low, high});
}

Var operator-(const Var& x) { return unary<math::Neg>(x); }
Var operator*(const Var& x, double s) { return unary(x, math::MulScalar{s}); }
Var operator*(double s, const Var& x) { return x * s; }
Var operator/(const Var& x, double s) { return unary(x, math::DivScalar{s}); }
Var operator/(double s, const Var& x) { return unary(x, math::ScalarDiv{s}); }
Var operator-(double s, const Var& x) { return unary(x, math::ScalarSub{s}); }
Var operator+(double s, const Var& x) { return x + s; }
Var operator-(const Var& x, double s) { return x + -s; }

// y = x + s;  dx = dy
Var operator+(const Var& x, double s) {
  const OpScope op("add_scalar");
  TARE_CHECK(is_floating(x.dtype()), "add_scalar: needs a floating dtype, got ", x.dtype());
  Tensor y = Tensor::empty(x.shape(), {x.dtype(), x.device(), {}});
  kernels::unary_forward(x.value(), y, math::AddScalar{s});
  return record("add_scalar", y, {x}, {}, [](GradOut& out, Saved&, const Tensor& dy) { out.give(0, dy); });
}

}  // namespace tare
