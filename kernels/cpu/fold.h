// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes of a tensor of any layout, as "folds": out[j] = combine over k of term(x[j, k],
// m[j]).
//
// Whichever axis is dense in memory, the inner loop is the same: acc[c] = combine(acc[c], term(x[r, c])) over
// a few hundred columns c, which stay in the L1 cache. A dense axis that is kept gives the columns; one that
// is reduced is cut into rows of kLanes columns, whose accumulators are combined at the end. Accumulators
// (f32 for f32 and half types) go into f64 totals every kFlushRows rows. Work is cut into pieces by shapes
// alone, and pieces are combined in order: no result depends on the number of threads.
#pragma once

#include <limits>

#include "tare/core/tensor.h"
#include "tare/kernels/accum.h"

namespace tare::kernels::cpu {

// What is folded. m is an optional value per output.
struct SumOf {
  static constexpr double kInit = 0;
  template <class A> static TARE_HD A term(A x, A) { return x; }
  template <class A> static TARE_HD A combine(A a, A b) { return a + b; }
};
struct SumOfSquaredDeviations {
  static constexpr double kInit = 0;
  template <class A> static TARE_HD A term(A x, A m) { return (x - m) * (x - m); }
  template <class A> static TARE_HD A combine(A a, A b) { return a + b; }
};
// Whether the extremum y is x; NaN is NaN.
template <class A> TARE_HD bool is_extremum(A x, A y) { return (x == y) | ((x != x) & (y != y)); }
struct CountOfExtremum {
  static constexpr double kInit = 0;
  template <class A> static TARE_HD A term(A x, A m) { return is_extremum(x, m) ? A(1) : A(0); }
  template <class A> static TARE_HD A combine(A a, A b) { return a + b; }
};
// NaN wins.
struct MaximumOf {
  static constexpr double kInit = -std::numeric_limits<double>::infinity();
  template <class A> static TARE_HD A term(A x, A) { return x; }
  template <class A> static TARE_HD A combine(A a, A b) {
    const A larger = a > b ? a : b;
    return a == a ? larger : a;
  }
};
struct MinimumOf {
  static constexpr double kInit = std::numeric_limits<double>::infinity();
  template <class A> static TARE_HD A term(A x, A) { return x; }
  template <class A> static TARE_HD A combine(A a, A b) {
    const A smaller = a < b ? a : b;
    return a == a ? smaller : a;
  }
};

// y = or += fold of x / divisor. y: x's rank or less, 1 (or absent) along the reduced axes; m as y, or
// undefined. Floating dtypes, any strides.
template <class R> void fold(const Tensor& x, const Tensor& m, double divisor, Tensor& y, Accum accum);

}  // namespace tare::kernels::cpu
