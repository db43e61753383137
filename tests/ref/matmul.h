// SPDX-License-Identifier: Apache-2.0
// Reference matrix products: plain, batched with broadcasting, and the linear layer with its gradients.
#pragma once

#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

// c (M, N) = op(a) op(b); transposed operands are stored as (K, M) and (N, K).
template <typename T>
std::vector<T> matmul(const std::vector<T>& a, const std::vector<T>& b, int64_t M, int64_t N, int64_t K,
                      bool transpose_a = false, bool transpose_b = false) {
  std::vector<T> c(static_cast<size_t>(M * N), T(0));
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      for (int64_t k = 0; k < K; ++k) {
        c[m * N + n] += a[transpose_a ? k * M + m : m * K + k] * b[transpose_b ? n * K + k : k * N + n];
      }
    }
  }
  return c;
}

inline Shape batched_matmul_shape(const Shape& a_shape, const Shape& b_shape) {
  Shape out =
      broadcast_shape(Shape(a_shape.begin(), a_shape.end() - 2), Shape(b_shape.begin(), b_shape.end() - 2));
  out.push_back(a_shape[a_shape.size() - 2]);
  out.push_back(b_shape.back());
  return out;
}

// c (..., M, N) = a (..., M, K) b (..., K, N); the leading axes broadcast.
template <typename T>
std::vector<T> batched_matmul(const std::vector<T>& a, const Shape& a_shape, const std::vector<T>& b,
                              const Shape& b_shape) {
  const Shape shape = batched_matmul_shape(a_shape, b_shape);
  const int64_t K = a_shape.back();
  std::vector<T> c(static_cast<size_t>(numel(shape)), T(0));
  for (size_t i = 0; i < c.size(); ++i) {
    const Shape index = unravel(static_cast<int64_t>(i), shape);
    for (int64_t k = 0; k < K; ++k) {
      Shape ia = index, ib = index;
      ia.back() = k;
      ib[ib.size() - 2] = k;
      c[i] += a[static_cast<size_t>(ravel(ia, a_shape))] * b[static_cast<size_t>(ravel(ib, b_shape))];
    }
  }
  return c;
}

template <typename T> struct LinearGrad {
  std::vector<T> dx;       // (rows, in)
  std::vector<T> dweight;  // (out, in)
  std::vector<T> dbias;    // (out)
};

// y (rows, out) = x (rows, in) weight^T + bias, weight (out, in). Empty bias = 0.
template <typename T>
std::vector<T> linear_forward(const std::vector<T>& x, const std::vector<T>& weight,
                              const std::vector<T>& bias, int64_t rows, int64_t in, int64_t out) {
  std::vector<T> y = matmul(x, weight, rows, out, in, false, true);
  for (size_t i = 0; i < y.size() && !bias.empty(); ++i) y[i] += bias[i % static_cast<size_t>(out)];
  return y;
}

template <typename T>
LinearGrad<T> linear_backward(const std::vector<T>& x, const std::vector<T>& weight, const std::vector<T>& dy,
                              int64_t rows, int64_t in, int64_t out) {
  LinearGrad<T> g{matmul(dy, weight, rows, in, out), matmul(dy, x, out, in, rows, true, false),
                  std::vector<T>(static_cast<size_t>(out), T(0))};
  for (size_t i = 0; i < dy.size(); ++i) g.dbias[i % static_cast<size_t>(out)] += dy[i];
  return g;
}

}  // namespace tare::ref
