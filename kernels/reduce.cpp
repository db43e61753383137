// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/reduce.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

// y has x's rank; each extent is x's or 1.
void check_reduced(const char* op, const char* what, const Tensor& x, const Tensor& y) {
  check_floating(op, "x", x);
  check_floating(op, what, y);
  TARE_CHECK(y.dim() == x.dim() && broadcast_shapes(x.shape(), y.shape(), op) == x.shape(), op, ": ", what,
             " of shape ", y.shape(), " is no reduction of x ", x.shape());
  check_same_device(op, what, y, x.device());
}

void check_accumulator(const char* op, const char* what, const Tensor& t, const Tensor& x) {
  check_reduced(op, what, x, t);
  check_same_dtype(op, what, t, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
}

void check_gradient(const char* op, const Tensor& x, const Tensor& dx) {
  check_floating(op, "dx", dx);
  check_same_shape(op, "dx", dx, x.shape());
  check_same_device(op, "dx", dx, x.device());
}

double written(const Tensor& t, Accum accum) { return double(t.nbytes()) * (accum == Accum::add ? 2 : 1); }

}  // namespace

void mean_forward(const Tensor& x, Tensor& y) {
  check_reduced("mean_forward", "y", x, y);
  const Cost cost{double(x.numel() + y.numel()), double(x.nbytes() + y.nbytes())};
  TARE_DISPATCH_CPU(x.device(), cost, mean_forward(x, y));
}

void extremum_forward(Extremum which, const Tensor& x, Tensor& y) {
  check_reduced("extremum_forward", "y", x, y);
  TARE_CHECK(x.numel() > 0 || y.numel() == 0, "extremum_forward: x of shape ", x.shape(),
             " has no element to choose for y ", y.shape());
  const Cost cost{double(x.numel()), double(x.nbytes() + y.nbytes())};
  TARE_DISPATCH_CPU(x.device(), cost, extremum_forward(which, x, y));
}

void extremum_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& ties, Tensor& dx,
                       Accum accum) {
  check_reduced("extremum_backward", "y", x, y);
  check_reduced("extremum_backward", "dy", x, dy);
  check_same_shape("extremum_backward", "dy", dy, y.shape());
  check_accumulator("extremum_backward", "ties", ties, x);
  check_same_shape("extremum_backward", "ties", ties, y.shape());
  check_gradient("extremum_backward", x, dx);
  // x is read twice: to count ties, and to find them.
  const double bytes = 2 * double(x.nbytes()) + double(y.nbytes() + dy.nbytes() + ties.nbytes());
  const Cost cost{2 * double(x.numel()), bytes + written(dx, accum)};
  TARE_DISPATCH_CPU(x.device(), cost, extremum_backward(x, y, dy, ties, dx, accum));
}

void variance_forward(const Tensor& x, int64_t correction, Tensor& mean, Tensor& y) {
  check_reduced("variance_forward", "y", x, y);
  check_accumulator("variance_forward", "mean", mean, x);
  check_same_shape("variance_forward", "mean", mean, y.shape());
  TARE_CHECK(correction >= 0, "variance_forward: correction ", correction);
  const Cost cost{4 * double(x.numel()), 2 * double(x.nbytes()) + double(mean.nbytes() + y.nbytes())};
  TARE_DISPATCH_CPU(x.device(), cost, variance_forward(x, correction, mean, y));
}

void variance_backward(const Tensor& x, const Tensor& mean, const Tensor& dy, int64_t correction, Tensor& dx,
                       Accum accum) {
  check_reduced("variance_backward", "dy", x, dy);
  check_accumulator("variance_backward", "mean", mean, x);
  check_same_shape("variance_backward", "mean", mean, dy.shape());
  check_gradient("variance_backward", x, dx);
  TARE_CHECK(correction >= 0, "variance_backward: correction ", correction);
  const double bytes = double(x.nbytes() + mean.nbytes() + dy.nbytes()) + written(dx, accum);
  TARE_DISPATCH_CPU(x.device(), (Cost{3 * double(x.numel()), bytes}),
                    variance_backward(x, mean, dy, correction, dx, accum));
}

}  // namespace tare::kernels
