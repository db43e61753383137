// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/cpu/blocks.h"

#include <algorithm>
#include <type_traits>

#include "tare/core/convert.h"
#include "tare/core/isa.h"

namespace tare::kernels::cpu {
namespace {

// The type in which a sum of an A and an element of type T is formed.
template <class T, class A> using Wider = std::conditional_t<std::is_same_v<T, double>, double, A>;

// Dense runs of another type.
template <class S, class A>
TARE_INLINE void convert_body(const S* __restrict src, A* __restrict dst, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dst[i] = tare::detail::convert<A>(src[i]);
}

template <class A, class D> TARE_INLINE void add_body(const A* __restrict src, D* __restrict dst, int64_t n) {
  using W = Wider<D, A>;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    dst[i] = tare::detail::convert<D>(W(tare::detail::convert<W>(dst[i]) + W(src[i])));
}

template <class S, class A> void convert_run(const S* src, A* dst, int64_t n) {
  if constexpr (std::is_same_v<S, A>)
    std::copy(src, src + n, dst);
  else
    isa_call<convert_body<S, A>>(src, dst, n);
}

template <class S, class A> void load(const void* source, int64_t stride, int64_t n, A* dst) {
  const S* src = static_cast<const S*>(source);
  if (stride == 1)
    convert_run(src, dst, n);
  else if (stride == 0)
    std::fill(dst, dst + n, tare::detail::convert<A>(*src));
  else
    for (int64_t i = 0; i < n; ++i) dst[i] = tare::detail::convert<A>(src[i * stride]);
}

template <class A, class D> void store(const A* src, void* target, int64_t stride, int64_t n, Accum accum) {
  using W = Wider<D, A>;
  D* dst = static_cast<D*>(target);
  if (stride == 1)
    accum == Accum::set ? convert_run(src, dst, n) : isa_call<add_body<A, D>>(src, dst, n);
  else if (accum == Accum::set)
    for (int64_t i = 0; i < n; ++i) dst[i * stride] = tare::detail::convert<D>(src[i]);
  else
    for (int64_t i = 0; i < n; ++i)
      dst[i * stride] = tare::detail::convert<D>(W(tare::detail::convert<W>(dst[i * stride]) + W(src[i])));
}

detail::Axes join_axes(const Shape& shape, const Strides& strides) {
  detail::Axes axes;
  axes.count = 0;
  for (int i = 0; i < shape.dim(); ++i) {
    if (shape[i] == 1) continue;
    const int last = axes.count - 1;
    if (last >= 0 && axes.stride[last] == strides[i] * shape[i]) {
      axes.extent[last] *= shape[i];
      axes.stride[last] = strides[i];
    } else {
      axes.extent[axes.count] = shape[i];
      axes.stride[axes.count++] = strides[i];
    }
  }
  if (axes.count == 0) axes = detail::Axes();
  return axes;
}

bool is_dense(const detail::Axes& axes) {
  return axes.count == 1 && (axes.stride[0] == 1 || axes.extent[0] == 1);
}

template <class A> bool is_native(DType dtype) {
  // Masks are read and written as bytes.
  return std::is_same_v<A, uint8_t> ? dtype == DType::boolean : dtype == dtype_of<A>;
}

// visit(offset, count, stride) for each run of elements [begin, begin + count) along the last axis.
template <class Visit>
TARE_INLINE void for_runs(const detail::Axes& axes, int64_t begin, int64_t count, Visit visit) {
  const int last = axes.count - 1;
  int64_t index[kMaxDims], rest = begin, offset = 0;
  for (int i = last; i >= 0; --i) {
    index[i] = rest % axes.extent[i];
    rest /= axes.extent[i];
    offset += index[i] * axes.stride[i];
  }
  while (true) {
    const int64_t run = std::min(count, axes.extent[last] - index[last]);
    visit(offset, run, axes.stride[last]);
    count -= run;
    if (count == 0) return;
    offset -= index[last] * axes.stride[last];
    index[last] = 0;
    for (int i = last - 1; i >= 0; --i) {
      offset += axes.stride[i];
      if (++index[i] < axes.extent[i]) break;
      offset -= axes.extent[i] * axes.stride[i];
      index[i] = 0;
    }
  }
}

}  // namespace

template <class A>
BlockReader<A>::BlockReader(const Tensor& t, const Shape& shape)
    : data_(t.raw()),
      element_size_(size_of(t.dtype())),
      native_(is_native<A>(t.dtype())),
      axes_(join_axes(shape, t.expand(shape).strides())) {
  direct_ = native_ && is_dense(axes_);
  visit_all(t.dtype(), [&]<class S>() { load_ = load<S, A>; });
}

template <class A> const A* BlockReader<A>::gather(int64_t begin, int64_t count, A* buffer) const {
  const char* base = static_cast<const char*>(data_);
  const A* in_place = nullptr;
  A* dst = buffer;
  for_runs(axes_, begin, count, [&](int64_t offset, int64_t run, int64_t stride) {
    const void* src = base + offset * element_size_;
    if (native_ && stride == 1 && run == count)
      in_place = static_cast<const A*>(src);
    else
      load_(src, stride, run, dst);
    dst += run;
  });
  return in_place ? in_place : buffer;
}

template <class A>
BlockWriter<A>::BlockWriter(Tensor& t, Accum accum)
    : data_(t.mutable_raw()),
      element_size_(size_of(t.dtype())),
      accum_(accum),
      axes_(join_axes(t.shape(), t.strides())) {
  direct_ = is_native<A>(t.dtype()) && is_dense(axes_);
  visit_all(t.dtype(), [&]<class D>() { store_ = store<A, D>; });
}

template <class A> void BlockWriter<A>::scatter(int64_t begin, int64_t count, const A* buffer) const {
  char* base = static_cast<char*>(data_);
  for_runs(axes_, begin, count, [&](int64_t offset, int64_t run, int64_t stride) {
    store_(buffer, base + offset * element_size_, stride, run, accum_);
    buffer += run;
  });
}

template class BlockReader<float>;
template class BlockReader<double>;
template class BlockReader<int64_t>;
template class BlockReader<uint8_t>;
template class BlockWriter<float>;
template class BlockWriter<double>;
template class BlockWriter<int64_t>;
template class BlockWriter<uint8_t>;

}  // namespace tare::kernels::cpu
