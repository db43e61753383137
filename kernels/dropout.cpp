// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/dropout.h"

#include "tare/kernels/check.h"

namespace tare::kernels {

void dropout(const Tensor& x, const DropoutStream& stream, Tensor& y, Accum accum) {
  check_floating("dropout", "x", x);
  TARE_CHECK(x.dim() >= 1, "dropout: x needs an axis of samples");
  TARE_CHECK(stream.p >= 0 && stream.p < 1, "dropout: p is ", stream.p, ", expected 0 <= p < 1");
  check_contiguous("dropout", "x", x);
  check_like("dropout", "y", y, x);
  check_contiguous("dropout", "y", y);
  const double n = double(x.numel()), written = double(y.nbytes()) * (accum == Accum::add ? 2 : 1);
  TARE_DISPATCH_CPU(x.device(), (Cost{2 * n, double(x.nbytes()) + written}), dropout(x, stream, y, accum));
}

}  // namespace tare::kernels
