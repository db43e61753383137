// SPDX-License-Identifier: Apache-2.0
// The golden GPT-2 of tests/golden/data/gpt2, for the tests of models.
#pragma once

#include <cmath>
#include <memory>

#include "tare/nn/models/gpt2.h"

#include "tests/support/golden.h"

namespace tare::test {

inline std::unique_ptr<nn::Gpt2> golden_gpt2(DType dtype) {
  return nn::Gpt2::from_pretrained(golden_path("gpt2/model"), {dtype, kCpu});
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
