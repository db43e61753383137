// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/reduce.h"

#include <algorithm>

#include "tare/core/isa.h"
#include "tare/kernels/cpu/blocks.h"
#include "tare/kernels/cpu/fold.h"

namespace tare::kernels::cpu {
namespace {

template <class A>
TARE_INLINE void extremum_backward_body(const A* x, const A* y, const A* dy, const A* ties, A* dx, int64_t n,
                                        Accum accum) {
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = is_extremum(x[i], y[i]) ? dy[i] / ties[i] : A(0);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] += is_extremum(x[i], y[i]) ? dy[i] / ties[i] : A(0);
  }
}

template <class A>
TARE_INLINE void variance_backward_body(const A* x, const A* mean, const A* dy, A* dx, int64_t n, A factor,
                                        Accum accum) {
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = factor * (x[i] - mean[i]) * dy[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] += factor * (x[i] - mean[i]) * dy[i];
  }
}

// Elements of x per element of y.
double count_of(const Tensor& x, const Tensor& y) {
  double count = 1;
  for (int i = 0; i < x.dim(); ++i)
    if (y.shape()[i] != x.shape()[i]) count *= double(x.shape()[i]);
  return count;
}

// What a sum of squared deviations of `count` elements is divided by: 0, which gives NaN, where there are too
// few.
double variance_divisor(double count, int64_t correction) {
  return std::max(0.0, count - double(correction));
}

}  // namespace

void mean_forward(const Tensor& x, Tensor& y) { fold<SumOf>(x, {}, count_of(x, y), y, Accum::set); }

void extremum_forward(Extremum which, const Tensor& x, Tensor& y) {
  switch (which) {
    case Extremum::max:
      return fold<MaximumOf>(x, {}, 1, y, Accum::set);
    case Extremum::min:
      return fold<MinimumOf>(x, {}, 1, y, Accum::set);
  }
}

void extremum_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& ties, Tensor& dx,
                       Accum accum) {
  fold<CountOfExtremum>(x, y, 1, ties, Accum::set);
  if (dx.numel() == 0) return;
  visit_floating_compute_type({x.dtype(), dy.dtype()}, [&]<class A>() {
    const BlockReader<A> in_x(x, dx.shape()), in_y(y, dx.shape()), in_dy(dy, dx.shape());
    const BlockReader<A> in_ties(ties, dx.shape());
    const BlockWriter<A> out(dx, accum);
    for_blocks(dx.numel(), false, [&](int64_t begin, int64_t count) {
      A x_buffer[kBlock], y_buffer[kBlock], dy_buffer[kBlock], ties_buffer[kBlock], dx_buffer[kBlock];
      A* pdx = out.at(begin, dx_buffer);
      isa_call<extremum_backward_body<A>>(in_x.read(begin, count, x_buffer),
                                          in_y.read(begin, count, y_buffer),
                                          in_dy.read(begin, count, dy_buffer),
                                          in_ties.read(begin, count, ties_buffer), pdx, count, out.accum());
      out.commit(begin, count, pdx);
    });
  });
}

void variance_forward(const Tensor& x, int64_t correction, Tensor& mean, Tensor& y) {
  const double count = count_of(x, y);
  fold<SumOf>(x, {}, count, mean, Accum::set);
  fold<SumOfSquaredDeviations>(x, mean, variance_divisor(count, correction), y, Accum::set);
}

void variance_backward(const Tensor& x, const Tensor& mean, const Tensor& dy, int64_t correction, Tensor& dx,
                       Accum accum) {
  if (dx.numel() == 0) return;
  const double factor = 2 / variance_divisor(count_of(x, dy), correction);
  visit_floating_compute_type({x.dtype(), dy.dtype()}, [&]<class A>() {
    const BlockReader<A> in_x(x, dx.shape()), in_mean(mean, dx.shape()), in_dy(dy, dx.shape());
    const BlockWriter<A> out(dx, accum);
    for_blocks(dx.numel(), false, [&](int64_t begin, int64_t count) {
      A x_buffer[kBlock], mean_buffer[kBlock], dy_buffer[kBlock], dx_buffer[kBlock];
      A* pdx = out.at(begin, dx_buffer);
      isa_call<variance_backward_body<A>>(
          in_x.read(begin, count, x_buffer), in_mean.read(begin, count, mean_buffer),
          in_dy.read(begin, count, dy_buffer), pdx, count, A(factor), out.accum());
      out.commit(begin, count, pdx);
    });
  });
}

}  // namespace tare::kernels::cpu
