// SPDX-License-Identifier: Apache-2.0
// Shapes and strides: a short inline array of 64-bit extents.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace tare {

inline constexpr int kMaxDims = 8;

// Sizes or strides of up to kMaxDims dimensions. Strides count elements; 0 repeats (broadcast).
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int dim() const { return rank_; }
  int64_t operator[](int i) const { return dims_[size_t(i)]; }
  int64_t& operator[](int i) { return dims_[size_t(i)]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  void push_back(int64_t extent);
  int64_t numel() const;  // 1 for a scalar; an overflow of 64 bits is an Error
  bool operator==(const Shape& o) const;
  std::string str() const;  // "(2, 3)"

 private:
  std::array<int64_t, kMaxDims> dims_{};
  int rank_ = 0;
};

using Strides = Shape;

Strides contiguous_strides(const Shape& shape);
// NumPy's rule: align at the right, extents equal or 1. `op` names the caller in the error.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);
// Turns a negative axis into a positive one; out of range is an Error that names `op`.
int normalize_axis(int axis, int rank, const char* op);
std::ostream& operator<<(std::ostream& os, const Shape& shape);

}  // namespace tare
