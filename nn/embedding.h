// SPDX-License-Identifier: Apache-2.0
// Embedding: a table of rows looked up by index.
#pragma once

#include <string>

#include "tare/nn/module.h"

namespace tare::nn {

class Embedding : public Module {
 public:
  Embedding(int64_t rows, int64_t width, const Init& init = Init::normal(1),
            const ModuleOptions& options = {});
  // ids (...) of an integer dtype, each in [0, rows) -> (..., width).
  Var forward(const Tensor& ids) const;
  std::string describe() const override;

  Var weight;  // (rows, width)
};

}  // namespace tare::nn
