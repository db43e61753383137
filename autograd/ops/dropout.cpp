// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/dropout.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/ops/dropout_here.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"

namespace tare {

// y = x * mask / (1 - p);  dx = dy * mask / (1 - p), the mask made again
Var dropout(const Var& x, double p) {
  if (p == 0) return x;
  const OpScope op("dropout");
  const kernels::DropoutStream stream = dropout_here(p);
  const Tensor in = x.value().contiguous();
  Tensor y = Tensor::empty_like(in);
  kernels::dropout(in, stream, y, Accum::set);
  return record("dropout", y, {x}, {}, [stream](GradOut& out, Saved&, const Tensor& dy) {
    auto [dx, accum] = out.in_input_dtype(0);
    kernels::dropout(dy, stream, dx, accum);
  });
}

}  // namespace tare
