// SPDX-License-Identifier: Apache-2.0
// Reference softmax and log-softmax over the last axis of x (rows, C), and their gradients.
#pragma once

#include <cmath>
#include <vector>

#include "tests/ref/elementwise.h"

namespace tare::ref {

// sum(exp(x)) = exp(top) * total of C >= 1 values. Kept apart: top + log(total) loses digits when top is
// large.
template <typename T> struct ExpSum { T top, total; };

template <typename T> ExpSum<T> exp_sum(const T* x, int64_t C) {
  using std::exp;
  ExpSum<T> s{x[0], T(0)};
  for (int64_t c = 1; c < C; ++c) {
    if (real_part(x[c]) > real_part(s.top)) s.top = x[c];
  }
  for (int64_t c = 0; c < C; ++c) s.total += exp(x[c] - s.top);
  return s;
}

// log(sum(exp(x))) of C >= 1 values; -inf when all of them are.
template <typename T> T log_sum_exp(const T* x, int64_t C) {
  using std::log;
  const ExpSum<T> s = exp_sum(x, C);
  return std::isinf(real_part(s.top)) ? s.top : s.top + log(s.total);
}

template <typename T> std::vector<T> log_softmax_forward(const std::vector<T>& x, int64_t rows, int64_t C) {
  using std::log;
  std::vector<T> y(x.size());
  for (int64_t r = 0; r < rows && C > 0; ++r) {
    const ExpSum<T> s = exp_sum(x.data() + r * C, C);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = x[r * C + c] - s.top - log(s.total);
  }
  return y;
}

template <typename T> std::vector<T> softmax_forward(const std::vector<T>& x, int64_t rows, int64_t C) {
  using std::exp;
  std::vector<T> y(x.size());
  for (int64_t r = 0; r < rows && C > 0; ++r) {
    const ExpSum<T> s = exp_sum(x.data() + r * C, C);
    for (int64_t c = 0; c < C; ++c) y[r * C + c] = exp(x[r * C + c] - s.top) / s.total;
  }
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
