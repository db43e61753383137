// SPDX-License-Identifier: Apache-2.0
// Named tensors, and what became of them when they were loaded into a module.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tare/core/tensor.h"

namespace tare::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct LoadReport {
  std::vector<std::string> missing;     // parameters without a tensor
  std::vector<std::string> unexpected;  // tensors without a parameter
  std::vector<std::string> mismatched;  // "name: (3, 4) in the file, (4, 3) in the model"
  bool ok() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
  std::string str() const;  // what is wrong, one line per kind; "" when all is well
};

}  // namespace tare::nn
