// SPDX-License-Identifier: Apache-2.0
// Operands of elementwise kernels as row-major sequences of one compute type A, whatever their dtype and
// strides. A contiguous operand of type A is read and written where it stands; any other goes through a small
// buffer in the cache, a block at a time, so that the loops of the kernels see dense arrays of float, double
// or i64 (bool: u8) only.
#pragma once

#include <algorithm>

#include "tare/core/parallel.h"
#include "tare/core/tensor.h"
#include "tare/kernels/accum.h"

namespace tare::kernels::cpu {

inline constexpr int64_t kBlock = 512;         // elements of a buffer: five of double fit into the L1 cache
inline constexpr int64_t kDirectBlock = 8192;  // elements per call of a kernel that needs no buffers

namespace detail {

// Extents and strides with neighbouring axes joined; the last axis is the fastest.
struct Axes {
  int count = 1;
  int64_t extent[kMaxDims] = {1};
  int64_t stride[kMaxDims] = {0};
};

}  // namespace detail

// Elements of a tensor, broadcast to `shape`, as A.
template <class A> class BlockReader {
 public:
  BlockReader(const Tensor& t, const Shape& shape);
  // The tensor itself is a dense array of A: read() costs nothing, for any count.
  bool is_direct() const { return direct_; }
  // Elements [begin, begin + count); `buffer` holds kBlock and is used where the tensor is not dense.
  const A* read(int64_t begin, int64_t count, A* buffer) const {
    return direct_ ? static_cast<const A*>(data_) + begin : gather(begin, count, buffer);
  }

 private:
  const A* gather(int64_t begin, int64_t count, A* buffer) const;

  const void* data_;
  int64_t element_size_;
  bool native_, direct_;
  void (*load_)(const void* src, int64_t stride, int64_t n, A* dst);
  detail::Axes axes_;
};

// Elements of a result, which does not repeat.
template <class A> class BlockWriter {
 public:
  BlockWriter(Tensor& t, Accum accum);
  bool is_direct() const { return direct_; }
  // What the kernel does to the memory that at() gives it.
  Accum accum() const { return direct_ ? accum_ : Accum::set; }
  A* at(int64_t begin, A* buffer) const { return direct_ ? static_cast<A*>(data_) + begin : buffer; }
  // Stores what the kernel left in the buffer.
  void commit(int64_t begin, int64_t count, const A* buffer) const {
    if (!direct_) scatter(begin, count, buffer);
  }

 private:
  void scatter(int64_t begin, int64_t count, const A* buffer) const;

  void* data_;
  int64_t element_size_;
  bool direct_;
  Accum accum_;
  void (*store_)(const A* src, void* dst, int64_t stride, int64_t n, Accum accum);
  detail::Axes axes_;
};

// body(begin, count) over [0, n) in blocks whose limits do not depend on the threads.
template <class Body> void for_blocks(int64_t n, bool direct, Body body) {
  const int64_t block = direct ? kDirectBlock : kBlock;
  parallel_for((n + block - 1) / block, 2 * kDirectBlock / block, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) body(i * block, std::min(block, n - i * block));
  });
}

// f.template operator()<A>() with A = double where one of the dtypes is f64, float where one is floating,
// else int64_t.
template <class F> void visit_compute_type(std::initializer_list<DType> dtypes, F&& f) {
  bool floating = false, wide = false;
  for (const DType dtype : dtypes) {
    floating = floating || is_floating(dtype);
    wide = wide || dtype == DType::f64;
  }
  if (wide) return f.template operator()<double>();
  if (floating) return f.template operator()<float>();
  return f.template operator()<int64_t>();
}
template <class F> void visit_floating_compute_type(std::initializer_list<DType> dtypes, F&& f) {
  for (const DType dtype : dtypes)
    if (dtype == DType::f64) return f.template operator()<double>();
  return f.template operator()<float>();
}

}  // namespace tare::kernels::cpu
