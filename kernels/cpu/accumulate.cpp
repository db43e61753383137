// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/accumulate.h"

#include "tare/core/isa.h"
#include "tare/core/parallel.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

// Element offset of row-major position `index` in a shape with the given strides.
int64_t offset_of(int64_t index, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  for (int i = shape.dim() - 1; i >= 0; --i) {
    offset += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return offset;
}

template <class S, class D>
TARE_INLINE void accumulate_row(const S* src, D* dst, int64_t n, acc_t<D> scale, Accum accum) {
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dst[i] = D(scale * acc_t<D>(acc_t<S>(src[i])));
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dst[i] = D(acc_t<D>(dst[i]) + scale * acc_t<D>(acc_t<S>(src[i])));
  }
}

template <class S, class D> void accumulate_typed(const Tensor& src, Tensor& dst, double scale, Accum accum) {
  const S* ps = src.data<S>();
  D* pd = dst.mutable_data<D>();
  const int64_t n = src.numel();
  if (src.is_contiguous() && dst.is_contiguous()) {
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      isa_call<accumulate_row<S, D>>(ps + begin, pd + begin, end - begin, acc_t<D>(scale), accum);
    });
    return;
  }
  // Rows along the last axis; a row is dense or walked element by element.
  const int64_t length = src.size(-1), rows = n / length;
  const bool dense = src.stride(-1) == 1 && dst.stride(-1) == 1;
  parallel_for(rows, kGrain / length + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const S* s = ps + offset_of(row * length, src.shape(), src.strides());
      D* d = pd + offset_of(row * length, dst.shape(), dst.strides());
      if (dense) {
        isa_call<accumulate_row<S, D>>(s, d, length, acc_t<D>(scale), accum);
        continue;
      }
      for (int64_t i = 0; i < length; ++i, s += src.stride(-1), d += dst.stride(-1))
        accumulate_row<S, D>(s, d, 1, acc_t<D>(scale), accum);
    }
  });
}

void accumulate_any(const Tensor& src, Tensor& dst, double scale, Accum accum) {
  if (src.numel() == 0) return;
  visit_floating(src.dtype(), "accumulate", [&]<class S>() {
    visit_floating(dst.dtype(), "accumulate",
                   [&]<class D>() { accumulate_typed<S, D>(src, dst, scale, accum); });
  });
}

template <class S, class D> void sum_to_typed(const Tensor& src, Tensor& dst, Accum accum) {
  using A = acc_t<D>;
  const Shape& shape = src.shape();
  const Strides dst_strides = dst.expand(shape).strides();
  Shape kept, summed;  // extents of src that dst keeps and that are summed away
  Strides kept_src, kept_dst, summed_src;
  for (int i = 0; i < shape.dim(); ++i) {
    if (dst_strides[i] == 0) {
      summed.push_back(shape[i]);
      summed_src.push_back(src.strides()[i]);
    } else {
      kept.push_back(shape[i]);
      kept_src.push_back(src.strides()[i]);
      kept_dst.push_back(dst_strides[i]);
    }
  }
  const S* ps = src.data<S>();
  D* pd = dst.mutable_data<D>();
  const int64_t outputs = kept.numel(), terms = summed.numel();
  parallel_for(outputs, kGrain / (terms + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      const S* s = ps + offset_of(j, kept, kept_src);
      double sum = 0;
      for (int64_t k = 0; k < terms; ++k) sum += double(acc_t<S>(s[offset_of(k, summed, summed_src)]));
      D& d = pd[offset_of(j, kept, kept_dst)];
      d = accum == Accum::set ? D(A(sum)) : D(A(d) + A(sum));
    }
  });
}

}  // namespace

void accumulate(const Tensor& src, Tensor& dst, Accum accum) { accumulate_any(src, dst, 1, accum); }

void accumulate_scaled(const Tensor& src, const Tensor& scale, Tensor& dst, Accum accum) {
  accumulate_any(src, dst, scale.item<double>(), accum);
}

void sum_to(const Tensor& src, Tensor& dst, Accum accum) {
  if (dst.numel() == 0) return;
  visit_floating(src.dtype(), "sum_to", [&]<class S>() {
    visit_floating(dst.dtype(), "sum_to", [&]<class D>() { sum_to_typed<S, D>(src, dst, accum); });
  });
}

}  // namespace tare::kernels::cpu
