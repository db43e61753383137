// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/accumulate.h"

#include "tare/core/isa.h"
#include "tare/kernels/cpu/blocks.h"
#include "tare/kernels/cpu/fold.h"

namespace tare::kernels::cpu {
namespace {

template <class A> TARE_INLINE void accumulate_body(const A* src, A* dst, int64_t n, A scale, Accum accum) {
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dst[i] = scale * src[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dst[i] += scale * src[i];
  }
}

void accumulate_any(const Tensor& src, Tensor& dst, double scale, Accum accum) {
  if (dst.numel() == 0) return;
  visit_floating_compute_type({src.dtype(), dst.dtype()}, [&]<class A>() {
    const BlockReader<A> in(src, dst.shape());
    const BlockWriter<A> out(dst, accum);
    for_blocks(dst.numel(), in.is_direct() && out.is_direct(), [&](int64_t begin, int64_t count) {
      A src_buffer[kBlock], dst_buffer[kBlock];
      const A* psrc = in.read(begin, count, src_buffer);
      A* pdst = out.at(begin, dst_buffer);
      isa_call<accumulate_body<A>>(psrc, pdst, count, A(scale), out.accum());
      out.commit(begin, count, pdst);
    });
  });
}

}  // namespace

void accumulate(const Tensor& src, Tensor& dst, Accum accum) { accumulate_any(src, dst, 1, accum); }

void accumulate_scaled(const Tensor& src, const Tensor& scale, Tensor& dst, Accum accum) {
  accumulate_any(src, dst, scale.item<double>(), accum);
}

void sum_to(const Tensor& src, Tensor& dst, Accum accum) { fold<SumOf>(src, {}, 1, dst, accum); }

}  // namespace tare::kernels::cpu
