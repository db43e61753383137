// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/embedding.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"

namespace tare {

// y = table[ids];  dtable[ids] += dy
Var embedding(const Tensor& ids, const Var& table) {
  const OpScope op("embedding");
  TARE_CHECK(table.dim() == 2, "embedding: table has shape ", table.shape(), ", expected (V, C)");
  const Tensor rows = ids.contiguous(), weight = table.value().contiguous();
  Shape shape = ids.shape();
  shape.push_back(table.size(1));
  Tensor y = Tensor::empty(shape, {table.dtype(), table.device(), {}});
  kernels::embedding_forward(rows, weight, y);
  return record("embedding", y, {table}, {rows}, [](GradOut& out, Saved& saved, const Tensor& dy) {
    auto [dtable, accum] = out(0);
    kernels::embedding_backward(saved[0], dy, dtable, accum);
  });
}

}  // namespace tare
