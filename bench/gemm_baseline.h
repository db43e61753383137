// SPDX-License-Identifier: Apache-2.0
// The matrix products of a training step alone, as plain oneDNN calls: the floor under a step's time.
#pragma once

#include <cstdint>
#include <vector>

#include "tare/core/tensor.h"

namespace tare::bench {

// One linear layer over `tokens` rows, `count` times in the model.
struct LinearShape {
  int64_t tokens = 0, in = 0, out = 0;
  int64_t count = 1;
};

// Per layer y = x W, dx = dy W^T and dW = x^T dy in f32, over buffers that stay allocated (huge pages, warm).
class GemmBaseline {
 public:
  explicit GemmBaseline(std::vector<LinearShape> layers);

  static bool available();  // false in a build without oneDNN
  double run();             // all products of one step, once; seconds
  double flops() const;     // of one run

 private:
  std::vector<LinearShape> layers_;
  Tensor x_, w_, y_, dx_, dw_;  // each as large as the largest layer needs
};

}  // namespace tare::bench
