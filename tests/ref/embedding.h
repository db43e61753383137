// SPDX-License-Identifier: Apache-2.0
// Reference moves by index: embedding rows, gather, index_select, cat, and their gradients.
#pragma once

#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

// y (n, C) = weight (V, C) at the rows `ids` (n).
template <typename T>
std::vector<T> embedding_forward(const std::vector<int64_t>& ids, const std::vector<T>& weight, int64_t C) {
  std::vector<T> y;
  for (int64_t id : ids) y.insert(y.end(), weight.begin() + id * C, weight.begin() + (id + 1) * C);
  return y;
}

// dweight (V, C): rows of dy summed by id, in the order of the ids.
template <typename T>
std::vector<T> embedding_backward(const std::vector<int64_t>& ids, const std::vector<T>& dy, int64_t V,
                                  int64_t C) {
  std::vector<T> dweight(static_cast<size_t>(V * C), T(0));
  for (size_t i = 0; i < ids.size(); ++i) {
    for (int64_t c = 0; c < C; ++c) dweight[ids[i] * C + c] += dy[i * C + c];
  }
  return dweight;
}

// The flat source position in x for each element of gather's output: y[i, j] = x[i, index[i, j]] along
// `axis`. index has x's rank; y = x at these positions, and dx adds dy back to them.
inline std::vector<int64_t> gather_positions(const std::vector<int64_t>& index, const Shape& index_shape,
                                             const Shape& x_shape, int64_t axis) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < index.size(); ++i) {
    Shape at = unravel(static_cast<int64_t>(i), index_shape);
    at[axis_of(x_shape, axis)] = index[i];
    int64_t flat = 0;
    for (size_t d = 0; d < x_shape.size(); ++d) flat = flat * x_shape[d] + at[d];
    out.push_back(flat);
  }
  return out;
}

// The same for index_select: whole slices along `axis`, index (n).
inline std::vector<int64_t> index_select_positions(const std::vector<int64_t>& index, const Shape& x_shape,
                                                   int64_t axis) {
  Shape y_shape = x_shape;
  y_shape[axis_of(x_shape, axis)] = static_cast<int64_t>(index.size());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < numel(y_shape); ++i) {
    Shape at = unravel(i, y_shape);
    int64_t& a = at[axis_of(x_shape, axis)];
    a = index[static_cast<size_t>(a)];
    int64_t flat = 0;
    for (size_t d = 0; d < x_shape.size(); ++d) flat = flat * x_shape[d] + at[d];
    out.push_back(flat);
  }
  return out;
}

template <typename T> std::vector<T> take(const std::vector<T>& x, const std::vector<int64_t>& positions) {
  std::vector<T> y;
  for (int64_t p : positions) y.push_back(x[static_cast<size_t>(p)]);
  return y;
}

template <typename T>
std::vector<T> take_backward(const std::vector<T>& dy, const std::vector<int64_t>& positions,
                             int64_t x_numel) {
  std::vector<T> dx(static_cast<size_t>(x_numel), T(0));
  for (size_t i = 0; i < dy.size(); ++i) dx[static_cast<size_t>(positions[i])] += dy[i];
  return dx;
}

// Joined along `axis`; all other sizes are equal.
template <typename T>
std::vector<T> cat(const std::vector<std::vector<T>>& parts, const std::vector<Shape>& shapes, int64_t axis) {
  const size_t a = axis_of(shapes[0], axis);
  Shape shape = shapes[0];
  shape[a] = 0;
  for (const Shape& s : shapes) shape[a] += s[a];
  std::vector<T> y(static_cast<size_t>(numel(shape)));
  int64_t start = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (size_t i = 0; i < parts[p].size(); ++i) {
      Shape at = unravel(static_cast<int64_t>(i), shapes[p]);
      at[a] += start;
      int64_t flat = 0;
      for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
      y[static_cast<size_t>(flat)] = parts[p][i];
    }
    start += shapes[p][a];
  }
  return y;
}

}  // namespace tare::ref
