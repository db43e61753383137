// SPDX-License-Identifier: Apache-2.0
// What became of named tensors that were loaded into a module.
#pragma once

#include <string>
#include <vector>

#include "tare/core/safetensors.h"

namespace tare::nn {

struct LoadReport {
  std::vector<std::string> missing;     // parameters without a tensor
  std::vector<std::string> unexpected;  // tensors without a parameter
  std::vector<std::string> mismatched;  // "name: (3, 4) in the file, (4, 3) in the model"
  bool ok() const { return missing.empty() && unexpected.empty() && mismatched.empty(); }
  std::string str() const;  // what is wrong, one line per kind; "" when all is well
};

}  // namespace tare::nn
