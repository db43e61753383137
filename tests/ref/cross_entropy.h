// SPDX-License-Identifier: Apache-2.0
// Reference cross-entropy with ignored labels and label smoothing (Szegedy et al. 2016), as a (sum, count)
// pair; and the same behind a linear head without a bias.
#pragma once

#include <vector>

#include "tests/ref/matmul.h"
#include "tests/ref/softmax.h"

namespace tare::ref {

struct CrossEntropyOptions {
  int64_t ignore_index = -100;
  double label_smoothing = 0;
};

template <typename T> struct CrossEntropy {
  std::vector<T> loss;     // (rows); 0 where the label is ignored
  std::vector<T> dlogits;  // (rows, V): gradient of the SUM of the losses
  T sum = T(0);
  int64_t count = 0;  // labels that are not ignored
};

// loss = -sum_v target_v log p_v; target = (1 - s) onehot(label) + s / V.
template <typename T>
CrossEntropy<T> cross_entropy(const std::vector<T>& logits, const std::vector<int64_t>& labels, int64_t V,
                              const CrossEntropyOptions& options = {}) {
  const auto rows = static_cast<int64_t>(labels.size());
  const std::vector<T> log_p = log_softmax_forward(logits, rows, V), p = softmax_forward(logits, rows, V);
  CrossEntropy<T> out{std::vector<T>(rows, T(0)), std::vector<T>(logits.size(), T(0))};
  for (int64_t r = 0; r < rows; ++r) {
    if (labels[r] == options.ignore_index) continue;
    ++out.count;
    for (int64_t v = 0; v < V; ++v) {
      const double smooth = options.label_smoothing;
      const double target = (v == labels[r] ? 1 - smooth : 0) + smooth / static_cast<double>(V);
      if (target != 0) out.loss[r] -= T(target) * log_p[r * V + v];
      out.dlogits[r * V + v] = p[r * V + v] - T(target);
    }
    out.sum += out.loss[r];
  }
  return out;
}

template <typename T> struct LinearCrossEntropy {
  CrossEntropy<T> head;
  std::vector<T> dx;       // (rows, C): gradient of the SUM of the losses
  std::vector<T> dweight;  // (V, C)
};

// logits = x (rows, C) weight^T, weight (V, C).
template <typename T>
LinearCrossEntropy<T> linear_cross_entropy(const std::vector<T>& x, const std::vector<T>& weight,
                                           const std::vector<int64_t>& labels, int64_t C, int64_t V,
                                           const CrossEntropyOptions& options = {}) {
  const auto rows = static_cast<int64_t>(labels.size());
  const std::vector<T> logits = matmul(x, weight, rows, V, C, false, true);
  CrossEntropy<T> head = cross_entropy(logits, labels, V, options);
  std::vector<T> dx = matmul(head.dlogits, weight, rows, C, V);
  std::vector<T> dweight = matmul(head.dlogits, x, V, C, rows, true, false);
  return {std::move(head), std::move(dx), std::move(dweight)};
}

}  // namespace tare::ref
