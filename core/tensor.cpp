// SPDX-License-Identifier: Apache-2.0
#include "tare/core/tensor.h"

#include <algorithm>
#include <cmath>

#include "tare/core/parallel.h"
#include "tare/core/rng.h"

namespace tare {

Tensor Tensor::empty(const Shape& shape, TensorOptions options) {
  int64_t bytes = 0;
  TARE_CHECK(!__builtin_mul_overflow(shape.numel(), size_of(options.dtype), &bytes), "empty: shape ", shape,
             " is too large");
  return from_storage(Storage::allocate(bytes, options.device, options.category.value_or(current_category())),
                      0, shape, options.dtype);
}

Tensor Tensor::from_storage(std::shared_ptr<Storage> storage, int64_t byte_offset, const Shape& shape,
                            DType dtype) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = shape;
  t.strides_ = contiguous_strides(shape);
  t.numel_ = shape.numel();
  TARE_CHECK(byte_offset % size_of(dtype) == 0, "from_storage: offset ", byte_offset, " is not aligned to ",
             dtype);
  t.offset_ = byte_offset / size_of(dtype);
  TARE_CHECK(byte_offset >= 0 && byte_offset <= storage->bytes() &&
                 t.numel_ <= (storage->bytes() - byte_offset) / size_of(dtype),
             "from_storage: ", shape, " of ", dtype, " at byte ", byte_offset, " exceeds the storage's ",
             storage->bytes(), " bytes");
  t.storage_ = std::move(storage);
  return t;
}

Tensor Tensor::zeros(const Shape& shape, TensorOptions options) { return full(shape, 0, options); }

Tensor Tensor::full(const Shape& shape, double value, TensorOptions options) {
  Tensor t = empty(shape, options);
  fill(t, value);
  return t;
}

Tensor Tensor::arange(double start, double end, double step, TensorOptions options) {
  const double count = std::ceil((end - start) / step);
  TARE_CHECK(std::isfinite(start) && std::isfinite(end) && step != 0 && std::isfinite(step) && count < 0x1p53,
             "arange: start ", start, ", end ", end, ", step ", step);
  TARE_CHECK(is_floating(options.dtype) || (start == std::floor(start) && step == std::floor(step)),
             "arange: start ", start, " and step ", step, " are not all values of ", options.dtype,
             "; give a floating dtype");
  Tensor t = empty({std::max<int64_t>(0, int64_t(count))}, options);
  if (options.device.is_meta()) return t;
  if (!options.device.is_cpu()) {
    const Tensor host = arange(start, end, step, {options.dtype, kCpu, {}});
    copy(host, t);
    return t;
  }
  visit_all(options.dtype, [&]<class T>() {
    T* data = t.mutable_data<T>();
    for (int64_t i = 0; i < t.numel(); ++i) data[i] = detail::convert<T>(start + double(i) * step);
  });
  return t;
}

Tensor Tensor::randn(const Shape& shape, uint64_t seed, TensorOptions options) {
  Tensor t = empty(shape, options);
  fill_normal(t, 0, 1, {seed, 0});
  return t;
}

Tensor Tensor::empty_like(const Tensor& t) { return empty(t.shape(), {t.dtype(), t.device(), {}}); }
Tensor Tensor::zeros_like(const Tensor& t) { return zeros(t.shape(), {t.dtype(), t.device(), {}}); }

Tensor Tensor::from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> deleter,
                         Device device) {
  TARE_CHECK(data || shape.numel() == 0, "from_blob: null data for shape ", shape);
  TARE_CHECK(reinterpret_cast<uintptr_t>(data) % uintptr_t(size_of(dtype)) == 0,
             "from_blob: data is not aligned to ", dtype);
  int64_t bytes = 0;
  TARE_CHECK(!__builtin_mul_overflow(shape.numel(), size_of(dtype), &bytes), "from_blob: shape ", shape,
             " is too large");
  return from_storage(Storage::wrap(data, bytes, device, std::move(deleter)), 0, shape, dtype);
}

int64_t Tensor::size(int axis) const { return shape_[normalize_axis(axis, dim(), "size")]; }
int64_t Tensor::stride(int axis) const { return strides_[normalize_axis(axis, dim(), "stride")]; }

bool Tensor::is_contiguous() const {
  if (numel_ == 0) return true;
  int64_t expected = 1;
  for (int i = dim() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

const void* Tensor::raw() const {
  TARE_CHECK(defined(), "an undefined tensor has no data");
  TARE_CHECK(!device().is_meta() || numel_ == 0, "a tensor on the meta device has no data");
  return static_cast<const char*>(storage_->data()) + offset_ * size_of(dtype_);
}

void* Tensor::mutable_raw() {
  const void* p = raw();
  storage_->bump_version();
  return const_cast<void*>(p);
}

const void* Tensor::checked_data(DType dtype) const {
  TARE_CHECK(dtype == dtype_, "data<", dtype, ">() of a tensor of ", dtype_);
  return raw();
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor t = empty_like(*this);
  copy(*this, t);
  return t;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor t = empty(shape_, {dtype, device(), {}});
  copy(*this, t);
  return t;
}

Tensor Tensor::to(Device target) const {
  if (target == device()) return *this;
  Tensor t = empty(shape_, {dtype_, target, {}});
  copy(*this, t);
  return t;
}

}  // namespace tare
