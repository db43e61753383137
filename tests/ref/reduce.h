// SPDX-License-Identifier: Apache-2.0
// Reference reductions over any set of axes, argmax, top-k and their gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

// The shape with the reduced axes kept as 1; no axes = all of them.
inline Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& axes) {
  Shape out = shape;
  if (axes.empty()) return Shape(shape.size(), 1);
  for (int64_t a : axes) out[axis_of(shape, a)] = 1;
  return out;
}

template <typename T>
std::vector<T> sum(const std::vector<T>& x, const Shape& shape, const std::vector<int64_t>& axes) {
  return sum_to(x, shape, reduced_shape(shape, axes));
}

// Elements that go into one output element.
inline int64_t group_size(const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t n = 1;
  const Shape out = reduced_shape(shape, axes);
  for (size_t i = 0; i < shape.size(); ++i) n *= out[i] == shape[i] ? 1 : shape[i];
  return n;
}

template <typename T>
std::vector<T> mean(const std::vector<T>& x, const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<T> y = sum(x, shape, axes);
  for (T& v : y) v /= T(group_size(shape, axes));
  return y;
}

// sum (x - mean)^2 / (n - correction); correction 1 is the unbiased estimate. n <= correction divides by 0:
// NaN or inf.
template <typename T>
std::vector<T> variance(const std::vector<T>& x, const Shape& shape, const std::vector<int64_t>& axes,
                        int64_t correction) {
  const Shape out = reduced_shape(shape, axes);
  const std::vector<T> wide = broadcast_to(mean(x, shape, axes), out, shape);
  std::vector<T> squares(x.size());
  for (size_t i = 0; i < x.size(); ++i) squares[i] = (x[i] - wide[i]) * (x[i] - wide[i]);
  std::vector<T> y = sum(squares, shape, axes);
  for (T& v : y) v /= T(std::max<int64_t>(0, group_size(shape, axes) - correction));
  return y;
}

// dx = 2 (x - mean) / (n - correction) * dy
template <typename T>
std::vector<T> variance_grad(const std::vector<T>& x, const std::vector<T>& dy, const Shape& shape,
                             const std::vector<int64_t>& axes, int64_t correction) {
  const Shape out = reduced_shape(shape, axes);
  const std::vector<T> wide = broadcast_to(mean(x, shape, axes), out, shape),
                       wide_dy = broadcast_to(dy, out, shape);
  const T divisor = T(std::max<int64_t>(0, group_size(shape, axes) - correction));
  std::vector<T> dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    dx[i] = T(2) * (x[i] - wide[i]) / divisor * wide_dy[i];
  }
  return dx;
}

// sign = +1: maximum, -1: minimum. NaN wins, as in NumPy.
template <typename T>
std::vector<T> extremum(const std::vector<T>& x, const Shape& shape, const std::vector<int64_t>& axes,
                        int sign) {
  const Shape out = reduced_shape(shape, axes);
  std::vector<T> y(static_cast<size_t>(numel(out)));
  std::vector<bool> seen(y.size(), false);
  for (size_t i = 0; i < x.size(); ++i) {
    const auto o = static_cast<size_t>(ravel(unravel(static_cast<int64_t>(i), shape), out));
    const bool better = T(sign) * x[i] > T(sign) * y[o] || std::isnan(x[i]);
    if (!seen[o] || (better && !std::isnan(y[o]))) y[o] = x[i];
    seen[o] = true;
  }
  return y;
}

// The gradient of extremum with ties sharing evenly (PyTorch's amax, amin), and NaN likewise where they win.
template <typename T>
std::vector<T> extremum_grad(const std::vector<T>& x, const std::vector<T>& dy, const Shape& shape,
                             const std::vector<int64_t>& axes, int sign) {
  const Shape out = reduced_shape(shape, axes);
  const std::vector<T> best = broadcast_to(extremum(x, shape, axes, sign), out, shape);
  std::vector<T> hit(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    hit[i] = x[i] == best[i] || (std::isnan(x[i]) && std::isnan(best[i])) ? T(1) : T(0);
  const std::vector<T> ties = broadcast_to(sum(hit, shape, axes), out, shape),
                       wide_dy = broadcast_to(dy, out, shape);
  for (size_t i = 0; i < x.size(); ++i) hit[i] *= wide_dy[i] / ties[i];
  return hit;
}

// Positions of the k largest of each row of x (rows, n), largest first; of equal ones the lower position
// first.
template <typename T>
std::vector<int64_t> top_k(const std::vector<T>& x, int64_t rows, int64_t n, int64_t k) {
  std::vector<int64_t> out;
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const T* row = x.data() + r * n;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return row[a] > row[b]; });
    out.insert(out.end(), order.begin(), order.begin() + k);
  }
  return out;
}

template <typename T> std::vector<int64_t> argmax(const std::vector<T>& x, int64_t rows, int64_t n) {
  return top_k(x, rows, n, 1);
}

}  // namespace tare::ref
