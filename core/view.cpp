// SPDX-License-Identifier: Apache-2.0
// Views of a tensor: other shapes and strides over the same storage.
#include <algorithm>

#include "tare/core/tensor.h"

namespace tare {

Tensor Tensor::as_strided(const Shape& shape, const Strides& strides, int64_t element_offset) const {
  TARE_CHECK(shape.dim() == strides.dim(), "as_strided: shape ", shape, " and strides ", strides,
             " differ in length");
  Tensor t = *this;
  t.shape_ = shape;
  t.strides_ = strides;
  t.offset_ = offset_ + element_offset;
  t.numel_ = shape.numel();
  int64_t first = t.offset_, last = t.offset_;
  bool fits = true;
  for (int i = 0; i < shape.dim() && t.numel_ > 0; ++i) {
    int64_t& end = strides[i] < 0 ? first : last;
    int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(strides[i], shape[i] - 1, &reach) &&
           !__builtin_add_overflow(end, reach, &end);
  }
  const int64_t elements = storage_->bytes() / size_of(dtype_);
  TARE_CHECK(t.numel_ == 0 || (fits && first >= 0 && last < elements), "as_strided: shape ", shape,
             ", strides ", strides, ", offset ", element_offset, " leave the storage of ", elements,
             " elements");
  return t;
}

Shape Tensor::infer_extent(const Shape& shape) const {
  Shape result = shape;
  int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.dim(); ++i) {
    if (shape[i] == -1) {
      TARE_CHECK(unknown < 0, "view: shape ", shape, " has more than one -1");
      unknown = i;
    } else {
      TARE_CHECK(shape[i] >= 0 && !__builtin_mul_overflow(known, shape[i], &known), "view: bad shape ",
                 shape);
    }
  }
  if (unknown >= 0) {
    TARE_CHECK(known > 0 && numel_ % known == 0, "view: shape ", shape_, " does not fit into ", shape);
    result[unknown] = numel_ / known;
  }
  TARE_CHECK(result.numel() == numel_, "view: shape ", shape_, " does not fit into ", shape);
  return result;
}

// Walks the old axes from the right, gathering runs that lie evenly in memory; each run must be filled
// exactly by whole extents of the view. Axes of extent 1 join any run, since their strides mean nothing.
std::optional<Strides> Tensor::strides_for_view(const Shape& shape) const {
  if (is_contiguous() || numel_ == 0) return contiguous_strides(shape);
  Strides strides = shape;
  int view_axis = shape.dim() - 1;
  int64_t run = 1, run_stride = strides_[dim() - 1];
  for (int axis = dim() - 1; axis >= 0; --axis) {
    run *= shape_[axis];
    if (axis > 0 && (shape_[axis - 1] == 1 || strides_[axis - 1] == run * run_stride)) continue;
    int64_t filled = 1;
    for (; view_axis >= 0 && (filled < run || shape[view_axis] == 1); --view_axis) {
      strides[view_axis] = filled * run_stride;
      filled *= shape[view_axis];
    }
    if (filled != run) return std::nullopt;
    if (axis > 0) run_stride = strides_[axis - 1];
    run = 1;
  }
  return strides;
}

Tensor Tensor::view(const Shape& shape) const {
  const Shape target = infer_extent(shape);
  const auto strides = strides_for_view(target);
  TARE_CHECK(strides, "view: shape ", shape_, " with strides ", strides_, " cannot be seen as ", target,
             " without a copy");
  return as_strided(target, *strides, 0);
}

Tensor Tensor::reshape(const Shape& shape) const {
  const Shape target = infer_extent(shape);
  const auto strides = strides_for_view(target);
  return strides ? as_strided(target, *strides, 0) : contiguous().view(target);
}

Tensor Tensor::transpose(int a, int b) const {
  a = normalize_axis(a, dim(), "transpose");
  b = normalize_axis(b, dim(), "transpose");
  Tensor t = *this;
  std::swap(t.shape_[a], t.shape_[b]);
  std::swap(t.strides_[a], t.strides_[b]);
  return t;
}

Tensor Tensor::permute(const std::vector<int>& order) const {
  TARE_CHECK(int(order.size()) == dim(), "permute: ", order.size(), " axes for shape ", shape_);
  Tensor t = *this;
  uint32_t seen = 0;
  for (int i = 0; i < dim(); ++i) {
    const int axis = normalize_axis(order[size_t(i)], dim(), "permute");
    TARE_CHECK(!(seen & (1u << axis)), "permute: axis ", axis, " is named twice");
    seen |= 1u << axis;
    t.shape_[i] = shape_[axis];
    t.strides_[i] = strides_[axis];
  }
  return t;
}

Tensor Tensor::slice(int axis, int64_t begin, int64_t end, int64_t step) const {
  axis = normalize_axis(axis, dim(), "slice");
  TARE_CHECK(step >= 1, "slice: step ", step, " must be at least 1");
  const int64_t n = shape_[axis];
  const auto clamp = [n](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n); };
  begin = clamp(begin);
  end = std::max(clamp(end), begin);
  Tensor t = *this;
  t.shape_[axis] = end == begin ? 0 : (end - begin - 1) / step + 1;
  if (t.shape_[axis] > 1) t.strides_[axis] = strides_[axis] * step;  // else never used, and might overflow
  t.offset_ = offset_ + begin * strides_[axis];
  t.numel_ = t.shape_.numel();
  return t;
}

Tensor Tensor::select(int axis, int64_t index) const {
  axis = normalize_axis(axis, dim(), "select");
  const int64_t n = shape_[axis];
  TARE_CHECK(index >= -n && index < n, "select: index ", index, " is out of range for extent ", n);
  index = index < 0 ? index + n : index;
  return slice(axis, index, index + 1).squeeze(axis);
}

Tensor Tensor::expand(const Shape& shape) const {
  TARE_CHECK(shape.dim() >= dim(), "expand: shape ", shape_, " to ", shape);
  Strides strides = shape;
  for (int i = 0; i < shape.dim(); ++i) {
    const int own = i - (shape.dim() - dim());
    const int64_t extent = own < 0 ? 1 : shape_[own];
    TARE_CHECK(extent == shape[i] || extent == 1, "expand: shape ", shape_, " does not broadcast to ", shape);
    strides[i] = extent == shape[i] && own >= 0 ? strides_[own] : 0;
  }
  return as_strided(shape, strides, 0);
}

Tensor Tensor::unsqueeze(int axis) const {
  axis = normalize_axis(axis, dim() + 1, "unsqueeze");
  Shape shape;
  Strides strides;
  for (int i = 0; i <= dim(); ++i) {
    if (i == axis) {
      shape.push_back(1);
      strides.push_back(1);
    }
    if (i < dim()) {
      shape.push_back(shape_[i]);
      strides.push_back(strides_[i]);
    }
  }
  return as_strided(shape, strides, 0);
}

Tensor Tensor::squeeze(int axis) const {
  axis = normalize_axis(axis, dim(), "squeeze");
  TARE_CHECK(shape_[axis] == 1, "squeeze: axis ", axis, " of shape ", shape_, " is not 1");
  Shape shape;
  Strides strides;
  for (int i = 0; i < dim(); ++i) {
    if (i == axis) continue;
    shape.push_back(shape_[i]);
    strides.push_back(strides_[i]);
  }
  return as_strided(shape, strides, 0);
}

}  // namespace tare
