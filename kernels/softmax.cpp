// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/softmax.h"

#include "tare/kernels/check.h"

namespace tare::kernels {

void softmax_forward(const Tensor& x, Tensor& y) {
  check_floating("softmax_forward", "x", x);
  TARE_CHECK(x.dim() >= 1, "softmax_forward: x needs at least one axis");
  check_contiguous("softmax_forward", "x", x);
  check_like("softmax_forward", "y", y, x);
  check_contiguous("softmax_forward", "y", y);
  const double n = double(x.numel());
  TARE_DISPATCH(x.device(), (Cost{5 * n, double(x.nbytes() + y.nbytes())}), softmax_forward(x, y));
}

void softmax_backward(const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum) {
  check_floating("softmax_backward", "y", y);
  TARE_CHECK(y.dim() >= 1, "softmax_backward: y needs at least one axis");
  check_contiguous("softmax_backward", "y", y);
  check_like("softmax_backward", "dy", dy, y);
  check_contiguous("softmax_backward", "dy", dy);
  check_like("softmax_backward", "dx", dx, y);
  check_contiguous("softmax_backward", "dx", dx);
  const double n = double(y.numel());
  const double written = double(dx.nbytes()) * (accum == Accum::add ? 2 : 1);
  TARE_DISPATCH(y.device(), (Cost{4 * n, double(y.nbytes() + dy.nbytes()) + written}),
                softmax_backward(y, dy, dx, accum));
}

}  // namespace tare::kernels
