// SPDX-License-Identifier: Apache-2.0
// Sums over long arrays, at the speed of memory: one sequential stream, as prefetchers want it, into several
// vector accumulators, as one chain of additions is slower than memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tare/core/isa.h"
#include "tare/kernels/accum.h"
#include "tare/kernels/cpu/norm.h"
#include "tare/kernels/cpu/row_sum.h"

namespace tare::kernels::cpu {

// 16 bytes of A: registers of every instruction set, and enough for memory.
template <class A> struct Lanes {
  typedef A Vec __attribute__((vector_size(16)));
  typedef A Unaligned __attribute__((vector_size(16), aligned(alignof(A)), may_alias));
  static constexpr int64_t kCount = 16 / sizeof(A);
};

// The sum of x, or of x^2, over [0, n). Lanes of A; they go to f64 after every 1,024 elements.
template <bool kSquares, class A> TARE_INLINE double stream_sum(const A* x, int64_t n) {
  using Vec = typename Lanes<A>::Vec;
  using Load = const typename Lanes<A>::Unaligned;
  constexpr int64_t kLanes = Lanes<A>::kCount, kStep = 8 * kLanes, kRun = 1024;
  const int64_t whole = n / kStep * kStep;
  double sum = 0;
  for (int64_t begin = 0; begin < whole; begin += kRun) {
    const int64_t end = begin + kRun < whole ? begin + kRun : whole;
    Vec a0 = {}, a1 = {}, a2 = {}, a3 = {}, a4 = {}, a5 = {}, a6 = {}, a7 = {};
    for (int64_t i = begin; i < end; i += kStep) {
      Load* v = reinterpret_cast<Load*>(x + i);
      a0 += kSquares ? v[0] * v[0] : v[0];
      a1 += kSquares ? v[1] * v[1] : v[1];
      a2 += kSquares ? v[2] * v[2] : v[2];
      a3 += kSquares ? v[3] * v[3] : v[3];
      a4 += kSquares ? v[4] * v[4] : v[4];
      a5 += kSquares ? v[5] * v[5] : v[5];
      a6 += kSquares ? v[6] * v[6] : v[6];
      a7 += kSquares ? v[7] * v[7] : v[7];
    }
    const Vec total = ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7));
    for (int64_t lane = 0; lane < kLanes; ++lane) sum += double(total[lane]);
  }
  for (int64_t i = whole; i < n; ++i) sum += double(kSquares ? x[i] * x[i] : x[i]);
  return sum;
}

// The sum of x^2 over [0, n) for values of any floating type, to *out: for isa_call.
template <class T> TARE_INLINE void sum_of_squares(const T* x, int64_t n, double* out) {
  if constexpr (std::is_same_v<T, acc_t<T>>) {
    *out = stream_sum<true>(x, n);
  } else {
    constexpr int64_t kRun = 1024;  // f32 sums go to f64 after so many elements
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += kRun)
      total += double(row_sum<acc_t<T>>(n - begin < kRun ? n - begin : kRun, Square<T>{x + begin}));
    *out = total;
  }
}

}  // namespace tare::kernels::cpu
