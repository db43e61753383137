// SPDX-License-Identifier: Apache-2.0
// The golden GPT-2 of tests/golden/data/gpt2, for the tests of models.
#pragma once

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tare/core/safetensors.h"
#include "tare/nn/models/gpt2.h"

#include "tests/support/paths.h"

namespace tare::test {

inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(TARE_SOURCE_DIR) / "tests/golden/data" / name;
}

inline std::unique_ptr<nn::Gpt2> golden_gpt2(DType dtype) {
  return nn::Gpt2::from_pretrained(golden("gpt2/model"), {dtype, kCpu});
}

// ||a - b|| / ||b||
inline double relative_l2(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (a.at(i) - b[i]) * (a.at(i) - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}
inline double relative_l2(const Tensor& a, const Tensor& b) {
  return relative_l2(a.to_vector<double>(), b.to_vector<double>());
}

// Largest difference over the largest magnitude of b.
inline double relative_max(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  double difference = 0, largest = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double d = std::abs(x.at(i) - y[i]);
    if (!(d <= difference)) difference = d;
    largest = std::max(largest, std::abs(y[i]));
  }
  return difference / largest;
}

}  // namespace tare::test
