// SPDX-License-Identifier: Apache-2.0
// Shapes and broadcasting for the references: dense row-major vectors, NumPy's rules, nothing clever.
// The references include no product code; a kernel is judged by something written apart from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace tare::ref {

using Shape = std::vector<int64_t>;

inline int64_t numel(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Axis in [0, rank); negative ones count from the end.
inline size_t axis_of(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) throw std::out_of_range("ref: axis");
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

// The multi-index of element `flat` of a dense tensor of this shape.
inline Shape unravel(int64_t flat, const Shape& shape) {
  Shape index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

// The flat position of a multi-index; trailing axes are aligned and axes of size 1 repeat,
// so that an index of a larger shape finds its source in a smaller one.
inline int64_t ravel(const Shape& index, const Shape& shape) {
  int64_t flat = 0;
  const size_t skip = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + (shape[i] == 1 ? 0 : index[i + skip]);
  return flat;
}

inline Shape broadcast_shape(const Shape& a, const Shape& b) {
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t da = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t db = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (da != db && da != 1 && db != 1) throw std::invalid_argument("ref: shapes do not broadcast");
    out[i] = da == 1 ? db : da;
  }
  return out;
}

template <typename T>
std::vector<T> broadcast_to(const std::vector<T>& x, const Shape& from, const Shape& to) {
  std::vector<T> y(static_cast<size_t>(numel(to)));
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = x[static_cast<size_t>(ravel(unravel(static_cast<int64_t>(i), to), from))];
  }
  return y;
}

// The gradient of broadcast_to: dy has shape `from`, the result `to`.
template <typename T> std::vector<T> sum_to(const std::vector<T>& dy, const Shape& from, const Shape& to) {
  std::vector<T> dx(static_cast<size_t>(numel(to)), T(0));
  for (size_t i = 0; i < dy.size(); ++i) {
    dx[static_cast<size_t>(ravel(unravel(static_cast<int64_t>(i), from), to))] += dy[i];
  }
  return dx;
}

// y[i, j, ...] = x with its axes in the order `axes`.
template <typename T>
std::vector<T> permute(const std::vector<T>& x, const Shape& shape, const std::vector<size_t>& axes) {
  Shape out_shape;
  for (size_t a : axes) out_shape.push_back(shape[a]);
  std::vector<T> y(x.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const Shape out_index = unravel(static_cast<int64_t>(i), out_shape);
    Shape index(shape.size());
    for (size_t k = 0; k < axes.size(); ++k) index[axes[k]] = out_index[k];
    y[i] = x[static_cast<size_t>(ravel(index, shape))];
  }
  return y;
}

}  // namespace tare::ref
