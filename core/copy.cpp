// SPDX-License-Identifier: Apache-2.0
// Element copies with conversion and any strides, and fills.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tare/core/convert.h"
#include "tare/core/cuda/memory.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/core/tensor.h"

namespace tare {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

template <class S, class D>
TARE_INLINE void convert_row_body(const S* src, D* dst, int64_t n, int64_t src_stride, int64_t dst_stride) {
  if (src_stride == 1 && dst_stride == 1) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dst[i] = detail::convert<D>(src[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = detail::convert<D>(src[i * src_stride]);
  }
}

// Both tensors' layouts with neighbouring axes joined where both allow it; the last axis is the row.
struct Rows {
  Shape shape;  // without the row
  Strides src, dst;
  int64_t length = 1, src_stride = 1, dst_stride = 1;
  int64_t count() const { return shape.numel(); }
};

Rows join_axes(const Tensor& src, const Tensor& dst) {
  Shape shape;
  Strides s, d;
  for (int i = 0; i < src.dim(); ++i) {
    const int64_t extent = src.shape()[i];
    if (extent == 1) continue;
    const int64_t ss = src.strides()[i], ds = dst.strides()[i];
    const int last = shape.dim() - 1;
    if (last >= 0 && s[last] == ss * extent && d[last] == ds * extent) {
      shape[last] *= extent;
      s[last] = ss;
      d[last] = ds;
    } else {
      shape.push_back(extent);
      s.push_back(ss);
      d.push_back(ds);
    }
  }
  Rows rows;
  const int outer = shape.dim() - 1;
  for (int i = 0; i < outer; ++i) {
    rows.shape.push_back(shape[i]);
    rows.src.push_back(s[i]);
    rows.dst.push_back(d[i]);
  }
  if (outer >= 0) {
    rows.length = shape[outer];
    rows.src_stride = s[outer];
    rows.dst_stride = d[outer];
  }
  return rows;
}

// Calls row(src offset, dst offset, length) for all rows, in several threads: one long row is cut, many short
// ones are shared out.
template <class Row> void for_rows(const Rows& rows, Row row) {
  const int64_t count = rows.count();
  if (count == 1) {
    parallel_for(rows.length, kGrain, [&](int64_t begin, int64_t end) {
      row(begin * rows.src_stride, begin * rows.dst_stride, end - begin);
    });
    return;
  }
  parallel_for(count, std::max<int64_t>(1, kGrain / rows.length), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, s = 0, d = 0;
      for (int axis = rows.shape.dim() - 1; axis >= 0; --axis) {
        const int64_t at = rest % rows.shape[axis];
        rest /= rows.shape[axis];
        s += at * rows.src[axis];
        d += at * rows.dst[axis];
      }
      row(s, d, rows.length);
    }
  });
}

template <class S, class D> void copy_rows(const S* src, D* dst, const Rows& rows) {
  for_rows(rows, [&](int64_t s, int64_t d, int64_t n) {
    isa_call<convert_row_body<S, D>>(src + s, dst + d, n, rows.src_stride, rows.dst_stride);
  });
}

// Writing one element several times is never meant, and would be a race between threads.
void check_distinct(const char* op, const Tensor& t) {
  for (int i = 0; i < t.dim(); ++i)
    TARE_CHECK(t.strides()[i] != 0 || t.shape()[i] <= 1, op, ": the target of shape ", t.shape(),
               " with strides ", t.strides(), " repeats elements");
}

void copy_on_cpu(const Tensor& src, Tensor& dst) {
  const Rows rows = join_axes(src, dst);
  visit_all(src.dtype(), [&]<class S>() {
    visit_all(dst.dtype(), [&]<class D>() { copy_rows<S, D>(src.data<S>(), dst.mutable_data<D>(), rows); });
  });
}

}  // namespace

void copy(const Tensor& src, Tensor& dst) {
  TARE_CHECK(src.defined() && dst.defined(), "copy: an undefined tensor");
  TARE_CHECK(src.shape() == dst.shape(), "copy: shapes ", src.shape(), " and ", dst.shape(), " differ");
  check_distinct("copy", dst);
  if (dst.device().is_meta()) {
    dst.bump_version();
    return;
  }
  TARE_CHECK(!src.device().is_meta(), "copy: from the meta device, which has no data, to ", dst.device());
  if (src.numel() == 0) return;
  if (src.device().is_cpu() && dst.device().is_cpu()) return copy_on_cpu(src, dst);
  if (src.dtype() != dst.dtype() || !src.is_contiguous() || !dst.is_contiguous()) {
    // Through contiguous host memory of the target's dtype.
    Tensor host = Tensor::empty(src.shape(), {src.dtype(), kCpu, {}});
    copy(src.contiguous(), host);
    Tensor converted = host.to(dst.dtype());
    if (dst.device().is_cpu()) return copy_on_cpu(converted, dst);
    TARE_CHECK(dst.is_contiguous(), "copy: a strided target on ", dst.device());
    return copy(converted, dst);
  }
  cuda::copy_bytes(src.raw(), src.device(), dst.mutable_raw(), dst.device(), src.nbytes());
}

void fill(Tensor& t, double value) {
  TARE_CHECK(t.defined(), "fill: an undefined tensor");
  check_distinct("fill", t);
  if (t.device().is_meta()) return t.bump_version();
  if (t.numel() == 0) return;
  if (!t.device().is_cpu()) {
    Tensor host = Tensor::full(t.shape(), value, {t.dtype(), kCpu, {}});
    return copy(host, t);
  }
  if (value == 0 && !std::signbit(value) && t.is_contiguous()) {
    char* p = static_cast<char*>(t.mutable_raw());
    parallel_for(t.nbytes(), 1 << 18,
                 [&](int64_t begin, int64_t end) { std::memset(p + begin, 0, size_t(end - begin)); });
    return;
  }
  const Rows rows = join_axes(t, t);
  visit_all(t.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      TARE_CHECK(value >= double(std::numeric_limits<T>::min()) &&
                     value < std::ldexp(1.0, std::numeric_limits<T>::digits),
                 "fill: ", value, " is no value of ", t.dtype());
    T* data = t.mutable_data<T>();
    const T converted = detail::convert<T>(value);
    for_rows(rows, [&](int64_t, int64_t at, int64_t n) {
      for (int64_t i = 0; i < n; ++i) data[at + i * rows.dst_stride] = converted;
    });
  });
}

}  // namespace tare
