// SPDX-License-Identifier: Apache-2.0
// Reference softmax and log-softmax over the last axis of x (rows, C), and their gradients.
#pragma once

#include <cmath>
#include <vector>

#include "tests/ref/elementwise.h"

namespace tare::ref {

// max + log(sum(exp(x - max))) of C values; -inf when all of them are.
template <typename T> T log_sum_exp(const T* x, int64_t C) {
  using std::exp, std::log;
  T top = x[0];
  for (int64_t c = 1; c < C; ++c) {
    if (real_part(x[c]) > real_part(top)) top = x[c];
  }
  if (std::isinf(real_part(top))) return top;
  T total = T(0);
  for (int64_t c = 0; c < C; ++c) total += exp(x[c] - top);
  return top + log(total);
}

template <typename T> std::vector<T> log_softmax_forward(const std::vector<T>& x, int64_t rows, int64_t C) {
  std::vector<T> y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    const T lse = log_sum_exp(x.data() + r * C, C);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] - lse;
  }
  return y;
}

template <typename T> std::vector<T> softmax_forward(const std::vector<T>& x, int64_t rows, int64_t C) {
  using std::exp;
  std::vector<T> y = log_softmax_forward(x, rows, C);
  for (T& v : y) v = exp(v);
  return y;
}

// dx_i = sum_j dy_j dy_j/dx_i = sum_j dy_j y_j (delta_ij - y_i), with the Jacobian written out.
template <typename T>
std::vector<T> softmax_backward(const std::vector<T>& y, const std::vector<T>& dy, int64_t rows, int64_t C) {
  std::vector<T> dx(y.size(), T(0));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < C; ++i) {
      for (int64_t j = 0; j < C; ++j) {
        dx[r * C + i] += dy[r * C + j] * y[r * C + j] * (T(i == j ? 1 : 0) - y[r * C + i]);
      }
    }
  }
  return dx;
}

// dx_i = sum_j dy_j (delta_ij - softmax(x)_i); y is the log-softmax.
template <typename T>
std::vector<T> log_softmax_backward(const std::vector<T>& y, const std::vector<T>& dy, int64_t rows,
                                    int64_t C) {
  using std::exp;
  std::vector<T> dx(y.size());
  for (int64_t r = 0; r < rows; ++r) {
    T total = T(0);
    for (int64_t c = 0; c < C; ++c) total += dy[r * C + c];
    for (int64_t c = 0; c < C; ++c) dx[r * C + c] = dy[r * C + c] - exp(y[r * C + c]) * total;
  }
  return dx;
}

}  // namespace tare::ref
