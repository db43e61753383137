// SPDX-License-Identifier: Apache-2.0
#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/softmax.h"

namespace tare {

// y = softmax(x);  dx = y * (dy - sum(y * dy))
Var softmax(const Var& x) {
  const OpScope op("softmax");
  const Tensor in = x.value().contiguous();
  Tensor y = Tensor::empty_like(in);
  kernels::softmax_forward(in, y);
  return record("softmax", y, {x}, {y}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dx, accum] = out(0);
    kernels::softmax_backward(saved[0], dy, dx, accum);
  });
}

}  // namespace tare
