// SPDX-License-Identifier: Apache-2.0
// Tensor: a value (storage, offset, shape, strides, dtype). Copies share the storage; views copy nothing.
//
// Thread safety: different threads may read the same tensor, and may use different tensors freely (allocator,
// ledger and reference counts are thread-safe). Writing a storage while another thread reads or writes it is
// a race, as for any C++ object. Scopes (category, path, grad mode) belong to the thread that opened them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <vector>

#include "tare/core/convert.h"
#include "tare/core/device.h"
#include "tare/core/dtype.h"
#include "tare/core/shape.h"
#include "tare/core/storage.h"

namespace tare {

struct TensorOptions {
  DType dtype = DType::f32;
  Device device = kCpu;
  std::optional<Category> category = std::nullopt;  // by default that of the enclosing CategoryScope
};

class Tensor {
 public:
  Tensor() = default;  // undefined: defined() is false, nothing else may be asked

  static Tensor empty(const Shape& shape, TensorOptions options = {});
  static Tensor zeros(const Shape& shape, TensorOptions options = {});
  static Tensor full(const Shape& shape, double value, TensorOptions options = {});
  // start, start + step, ... below end (above, for a negative step). Shape (n).
  static Tensor arange(double start, double end, double step = 1,
                       TensorOptions options = {DType::i64, kCpu, {}});
  // Independent N(0, 1), element i from Philox(seed, i): the same for any dtype's rounding, device or thread
  // count.
  static Tensor randn(const Shape& shape, uint64_t seed, TensorOptions options = {});
  static Tensor empty_like(const Tensor& t);  // contiguous, same shape, dtype and device
  static Tensor zeros_like(const Tensor& t);
  // Wraps memory of the caller, row-major; `deleter` runs when the last view is gone, but not after an Error.
  static Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void()> deleter = {},
                          Device device = kCpu);
  template <class T> static Tensor from_vector(const std::vector<T>& values, const Shape& shape);
  // A contiguous window of a storage, at a byte offset.
  static Tensor from_storage(std::shared_ptr<Storage> storage, int64_t byte_offset, const Shape& shape,
                             DType dtype);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int dim() const { return shape_.dim(); }
  int64_t size(int axis) const;  // negative axes count from the end
  int64_t stride(int axis) const;
  int64_t numel() const { return numel_; }
  int64_t nbytes() const { return numel_ * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device() : kCpu; }
  bool is_contiguous() const;

  // Typed access; Error when T is not the dtype. The mutable one counts as a write: it bumps the version.
  template <class T> const T* data() const { return static_cast<const T*>(checked_data(dtype_of<T>)); }
  template <class T> T* mutable_data() {
    T* data = static_cast<T*>(const_cast<void*>(checked_data(dtype_of<T>)));
    storage_->bump_version();
    return data;
  }
  const void* raw() const;
  void* mutable_raw();
  // The single element of a one-element tensor, converted to T as copy() does; integers stay exact.
  template <class T> T item() const;
  // All elements in row-major order, converted to T.
  template <class T> std::vector<T> to_vector() const;

  const std::shared_ptr<Storage>& storage() const { return storage_; }
  uint32_t version() const { return storage_->version(); }
  void bump_version() { storage_->bump_version(); }
  bool is_sole_owner() const { return storage_.use_count() == 1; }
  bool same_storage(const Tensor& o) const { return storage_ == o.storage_; }

  // Views. One extent of view() and reshape() may be -1. view() throws where strides do not allow it;
  // reshape() then copies (which the ledger sees).
  Tensor view(const Shape& shape) const;
  Tensor reshape(const Shape& shape) const;
  Tensor transpose(int a, int b) const;
  Tensor permute(const std::vector<int>& order) const;
  // Elements begin, begin + step, ... before end along an axis. Negative positions count from the end,
  // positions beyond it are clamped, as in Python; step >= 1.
  Tensor slice(int axis, int64_t begin, int64_t end, int64_t step = 1) const;
  Tensor select(int axis, int64_t index) const;  // drops the axis
  Tensor expand(const Shape& shape) const;       // broadcast by stride 0
  Tensor unsqueeze(int axis) const;
  Tensor squeeze(int axis) const;
  Tensor as_strided(const Shape& shape, const Strides& strides, int64_t element_offset) const;

  // Copies. contiguous(), to() and on a no-op return the tensor itself.
  Tensor contiguous() const;
  Tensor clone() const;
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;

 private:
  const void* checked_data(DType dtype) const;
  std::optional<Strides> strides_for_view(const Shape& shape) const;
  Shape infer_extent(const Shape& shape) const;

  std::shared_ptr<Storage> storage_;
  int64_t offset_ = 0;  // elements
  int64_t numel_ = 0;
  Shape shape_;
  Strides strides_;
  DType dtype_ = DType::f32;
};

// Copies elements of src into dst (same shape; any strides, dtypes and devices), converting by C++ rules:
// round to nearest even into floating types, once; truncation towards zero into integers; != 0 into bool. The
// two may not overlap, and dst may not repeat elements (stride 0).
void copy(const Tensor& src, Tensor& dst);
void fill(Tensor& t, double value);

// Shape, dtype and values, as NumPy prints them, shortened in the middle.
std::ostream& operator<<(std::ostream& os, const Tensor& t);

template <class T> Tensor Tensor::from_vector(const std::vector<T>& values, const Shape& shape) {
  TARE_CHECK(int64_t(values.size()) == shape.numel(), "from_vector: ", values.size(), " values for shape ",
             shape);
  Tensor t = empty(shape, {dtype_of<T>, kCpu, {}});
  std::copy(values.begin(), values.end(), t.mutable_data<T>());
  return t;
}

template <class T> T Tensor::item() const {
  TARE_CHECK(numel_ == 1, "item: needs one element, got shape ", shape_);
  const Tensor host = to(kCpu);
  return visit_all(dtype_, [&]<class S>() { return detail::convert<T>(*host.data<S>()); });
}

template <class T> std::vector<T> Tensor::to_vector() const {
  const Tensor t = to(kCpu).to(dtype_of<T>).contiguous();
  const T* p = t.data<T>();
  return std::vector<T>(p, p + t.numel());
}

}  // namespace tare
