// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/elementwise.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

// A result must not overlap itself.
void check_result(const char* op, const char* what, const Tensor& t) {
  for (int i = 0; i < t.dim(); ++i)
    TARE_CHECK(t.strides()[i] != 0 || t.shape()[i] <= 1, op, ": ", what, " of shape ", t.shape(),
               " with strides ", t.strides(), " repeats elements");
}

void check_broadcasts(const char* op, const char* what, const Tensor& t, const Tensor& y) {
  TARE_CHECK(t.defined(), op, ": ", what, " is undefined");
  TARE_CHECK(broadcast_shapes(t.shape(), y.shape(), op) == y.shape(), op, ": ", what, " of shape ", t.shape(),
             " does not broadcast to ", y.shape());
  check_same_device(op, what, t, y.device());
}

double written(const Tensor& t, Accum accum) { return double(t.nbytes()) * (accum == Accum::add ? 2 : 1); }

}  // namespace

template <class F> void unary_forward(const Tensor& x, Tensor& y, F f) {
  check_floating(F::kForward, "x", x);
  check_floating(F::kForward, "y", y);
  check_same_shape(F::kForward, "y", y, x.shape());
  check_same_device(F::kForward, "y", y, x.device());
  check_result(F::kForward, "y", y);
  const Cost cost{double(F::kFlops) * double(y.numel()), double(x.nbytes() + y.nbytes())};
  TARE_DISPATCH_CPU_AS(F::kForward, y.device(), cost, unary_forward(x, y, f));
}

template <class F>
void unary_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum, F f) {
  const char* op = F::kBackward;
  check_floating(op, "dy", dy);
  check_floating(op, "dx", dx);
  check_same_shape(op, "dx", dx, dy.shape());
  check_same_device(op, "dx", dx, dy.device());
  check_result(op, "dx", dx);
  double bytes = double(dy.nbytes()) + written(dx, accum);
  if (F::kNeeds != math::Needs::nothing) {
    const bool needs_x = F::kNeeds == math::Needs::x;
    const Tensor& saved = needs_x ? x : y;
    check_floating(op, needs_x ? "x" : "y", saved);
    check_same_shape(op, needs_x ? "x" : "y", saved, dy.shape());
    check_same_device(op, needs_x ? "x" : "y", saved, dy.device());
    bytes += double(saved.nbytes());
  }
  const Cost cost{double(F::kFlops + 1) * double(dx.numel()), bytes};
  TARE_DISPATCH_CPU_AS(op, dx.device(), cost, unary_backward(x, y, dy, dx, accum, f));
}

template <class F> void binary_forward(const Tensor& a, const Tensor& b, Tensor& y) {
  const char* op = F::kForward;
  TARE_CHECK(y.defined(), op, ": y is undefined");
  check_broadcasts(op, "a", a, y);
  check_broadcasts(op, "b", b, y);
  check_result(op, "y", y);
  const bool integers = !is_floating(a.dtype()) && !is_floating(b.dtype()) && !is_floating(y.dtype());
  if (!integers || !math::kOnIntegers<F>) {
    check_floating(op, "y", y);
    TARE_CHECK(is_floating(a.dtype()) || math::kOnIntegers<F>, op, ": a is ", a.dtype());
    TARE_CHECK(is_floating(b.dtype()) || math::kOnIntegers<F>, op, ": b is ", b.dtype());
  }
  for (const Tensor* t : {&a, &b, static_cast<const Tensor*>(&y)})
    TARE_CHECK(t->dtype() != DType::boolean, op, ": not defined for bool");
  const Cost cost{double(F::kFlops) * double(y.numel()), double(a.nbytes() + b.nbytes() + y.nbytes())};
  TARE_DISPATCH_CPU_AS(op, y.device(), cost, binary_forward<F>(a, b, y));
}

template <class F>
void binary_backward(Side side, const Tensor& a, const Tensor& b, const Tensor& dy, Tensor& dx, Accum accum) {
  const char* op = F::kBackward;
  check_floating(op, "dy", dy);
  check_floating(op, "dx", dx);
  check_same_shape(op, "dx", dx, dy.shape());
  check_same_device(op, "dx", dx, dy.device());
  check_result(op, "dx", dx);
  double bytes = double(dy.nbytes()) + written(dx, accum);
  const math::Reads reads = side == Side::a ? F::kANeeds : F::kBNeeds;
  for (const bool is_a : {true, false}) {
    if (!(is_a ? reads.a : reads.b)) continue;
    const Tensor& t = is_a ? a : b;
    check_broadcasts(op, is_a ? "a" : "b", t, dy);
    TARE_CHECK(t.dtype() != DType::boolean, op, ": not defined for bool");
    bytes += double(t.nbytes());
  }
  const Cost cost{double(F::kFlops + 1) * double(dx.numel()), bytes};
  TARE_DISPATCH_CPU_AS(op, dx.device(), cost, binary_backward<F>(side, a, b, dy, dx, accum));
}

template <class F> void compare(const Tensor& a, const Tensor& b, Tensor& y) {
  const char* op = F::kName;
  TARE_CHECK(y.defined(), op, ": y is undefined");
  check_broadcasts(op, "a", a, y);
  check_broadcasts(op, "b", b, y);
  check_same_dtype(op, "y", y, DType::boolean);
  check_result(op, "y", y);
  TARE_CHECK(a.dtype() != DType::boolean && b.dtype() != DType::boolean, op, ": not defined for bool");
  const Cost cost{double(y.numel()), double(a.nbytes() + b.nbytes() + y.nbytes())};
  TARE_DISPATCH_CPU_AS(op, y.device(), cost, compare<F>(a, b, y));
}

void where_forward(const Tensor& mask, const Tensor& a, const Tensor& b, Tensor& y) {
  TARE_CHECK(y.defined(), "where_forward: y is undefined");
  check_broadcasts("where_forward", "mask", mask, y);
  check_broadcasts("where_forward", "a", a, y);
  check_broadcasts("where_forward", "b", b, y);
  check_same_dtype("where_forward", "mask", mask, DType::boolean);
  check_result("where_forward", "y", y);
  const bool floating = is_floating(y.dtype());
  TARE_CHECK(is_floating(a.dtype()) == floating && is_floating(b.dtype()) == floating, "where_forward: a is ",
             a.dtype(), ", b ", b.dtype(), ", y ", y.dtype(), ": all must be floating, or none");
  const double bytes = double(mask.nbytes() + a.nbytes() + b.nbytes() + y.nbytes());
  TARE_DISPATCH_CPU(y.device(), (Cost{0, bytes}), where_forward(mask, a, b, y));
}

void where_backward(const Tensor& mask, bool on, const Tensor& dy, Tensor& dx, Accum accum) {
  check_floating("where_backward", "dy", dy);
  check_floating("where_backward", "dx", dx);
  check_same_shape("where_backward", "dx", dx, dy.shape());
  check_same_device("where_backward", "dx", dx, dy.device());
  check_broadcasts("where_backward", "mask", mask, dy);
  check_same_dtype("where_backward", "mask", mask, DType::boolean);
  check_result("where_backward", "dx", dx);
  const double bytes = double(mask.nbytes() + dy.nbytes()) + written(dx, accum);
  const double flops = accum == Accum::add ? double(dx.numel()) : 0;
  TARE_DISPATCH_CPU(dx.device(), (Cost{flops, bytes}), where_backward(mask, on, dy, dx, accum));
}

#define TARE_INSTANTIATE(F)                                                                             \
  template void unary_forward<math::F>(const Tensor& x, Tensor& y, math::F f);                          \
  template void unary_backward<math::F>(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx, \
                                        Accum accum, math::F f);
TARE_UNARY_OPS(TARE_INSTANTIATE)
#undef TARE_INSTANTIATE
#define TARE_INSTANTIATE(F)                                                                             \
  template void binary_forward<math::F>(const Tensor& a, const Tensor& b, Tensor& y);                   \
  template void binary_backward<math::F>(Side side, const Tensor& a, const Tensor& b, const Tensor& dy, \
                                         Tensor& dx, Accum accum);
TARE_BINARY_OPS(TARE_INSTANTIATE)
#undef TARE_INSTANTIATE
#define TARE_INSTANTIATE(F) template void compare<math::F>(const Tensor& a, const Tensor& b, Tensor& y);
TARE_COMPARISONS(TARE_INSTANTIATE)
#undef TARE_INSTANTIATE

}  // namespace tare::kernels
