// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/join.h"

#include "tare/kernels/check.h"

namespace tare::kernels {

void cat_forward(const std::vector<Tensor>& xs, int axis, Tensor& y) {
  TARE_CHECK(y.defined() && axis >= 0 && axis < y.dim(), "cat: axis ", axis, " of y");
  int64_t extent = 0;
  double bytes = double(y.nbytes());
  for (const Tensor& x : xs) {
    TARE_CHECK(x.defined() && x.dim() == y.dim(), "cat: an input and y differ in dimensions");
    Shape expected = y.shape();
    expected[axis] = x.shape()[axis];
    check_same_shape("cat", "an input", x, expected);
    check_same_device("cat", "an input", x, y.device());
    extent += x.shape()[axis];
    bytes += double(x.nbytes());
  }
  TARE_CHECK(extent == y.shape()[axis], "cat: extents sum to ", extent, ", y has ", y.shape()[axis]);
  TARE_DISPATCH_CPU(y.device(), (Cost{0, bytes}), cat_forward(xs, axis, y));
}

}  // namespace tare::kernels
