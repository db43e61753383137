// SPDX-License-Identifier: Apache-2.0
#include "tare/core/shape.h"

#include <algorithm>
#include <ostream>

#include "tare/core/error.h"

namespace tare {

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  for (int64_t extent : dims) push_back(extent);
}

void Shape::push_back(int64_t extent) {
  TARE_CHECK(rank_ < kMaxDims, "a tensor has at most ", kMaxDims, " dimensions");
  dims_[size_t(rank_++)] = extent;
}

int64_t Shape::numel() const {
  int64_t n = 1;
  const bool empty = std::find(begin(), end(), 0) != end();
  for (int64_t extent : *this)
    TARE_CHECK(extent >= 0 && (empty || !__builtin_mul_overflow(n, extent, &n)), "shape ", *this,
               " has no valid number of elements");
  return empty ? 0 : n;
}

bool Shape::operator==(const Shape& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

std::string Shape::str() const {
  std::string s = "(";
  for (int i = 0; i < rank_; ++i) s += (i ? ", " : "") + std::to_string(dims_[size_t(i)]);
  return s + ")";
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (int i = shape.dim() - 1; i >= 0; --i) {
    strides[i] = step;
    // Only the strides of a tensor without elements can overflow, and nothing is read through those.
    if (__builtin_mul_overflow(step, std::max<int64_t>(shape[i], 1), &step)) step = 0;
  }
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  const int rank = std::max(a.dim(), b.dim());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.dim()), ib = i - (rank - b.dim());
    const int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    TARE_CHECK(da == db || da == 1 || db == 1, op, ": shapes ", a, " and ", b, " do not broadcast");
    out.push_back(da == 1 ? db : da);
  }
  return out;
}

int normalize_axis(int axis, int rank, const char* op) {
  TARE_CHECK(axis >= -rank && axis < rank, op, ": axis ", axis, " is out of range for ", rank, " dimensions");
  return axis < 0 ? axis + rank : axis;
}

std::ostream& operator<<(std::ostream& os, const Shape& shape) { return os << shape.str(); }

}  // namespace tare
