// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/embedding.h"

#include "tare/autograd/ops.h"

namespace tare::nn {

Embedding::Embedding(int64_t rows, int64_t width, const Init& init, const ModuleOptions& options) {
  TARE_CHECK(rows > 0 && width > 0, "Embedding: ", rows, " rows of ", width, ", expected sizes above 0");
  register_embedding("weight", weight, {rows, width}, init, options);
}

Var Embedding::forward(const Tensor& ids) const {
  const ForwardScope scope(*this);
  return embedding(ids, weight);
}

std::string Embedding::describe() const {
  return detail::concat("Embedding(", weight.size(0), " x ", weight.size(1), ")");
}

}  // namespace tare::nn
