// SPDX-License-Identifier: Apache-2.0
// Sums over a row inside kernel bodies: several vector accumulators hide the latency of the additions.
#pragma once

#include <cstdint>

#include "tare/core/isa.h"

namespace tare::kernels::cpu {

template <class A, class F> TARE_INLINE A row_sum_from(int64_t begin, int64_t n, F term) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < n; ++i) sum += term(i);
  return sum;
}

// The sum of term(i) over [0, n). `term` is a functor with an always-inlined operator(). The order of the
// additions depends on n and the instruction set alone.
template <class A, class F> TARE_INLINE A row_sum(int64_t n, F term) {
  const int64_t quarter = n / 64 * 16;
  A a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
  for (int64_t i = 0; i < quarter; ++i) {
    a += term(i);
    b += term(i + quarter);
    c += term(i + 2 * quarter);
    d += term(i + 3 * quarter);
  }
  return ((a + b) + (c + d)) + row_sum_from<A>(4 * quarter, n, term);
}

}  // namespace tare::kernels::cpu
