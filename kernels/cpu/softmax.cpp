// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/softmax.h"

#include <algorithm>
#include <limits>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/math.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements per thread at least

template <class T> TARE_INLINE void softmax_forward_rows(const T* x, T* y, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    acc_t<T> max = -std::numeric_limits<acc_t<T>>::infinity();
#pragma omp simd reduction(max : max)
    for (int64_t c = 0; c < cols; ++c) max = acc_t<T>(x[c]) > max ? acc_t<T>(x[c]) : max;
    acc_t<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < cols; ++c) sum += math::exp(acc_t<T>(x[c]) - max);
    const acc_t<T> inverse = 1 / sum;
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) y[c] = T(math::exp(acc_t<T>(x[c]) - max) * inverse);
  }
}

template <class T>
TARE_INLINE void softmax_backward_rows(const T* y, const T* dy, T* dx, int64_t rows, int64_t cols,
                                       Accum accum) {
  for (int64_t row = 0; row < rows; ++row, y += cols, dy += cols, dx += cols) {
    acc_t<T> dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t c = 0; c < cols; ++c) dot += acc_t<T>(y[c]) * acc_t<T>(dy[c]);
    if (accum == Accum::set) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dx[c] = T(acc_t<T>(y[c]) * (acc_t<T>(dy[c]) - dot));
    } else {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c)
        dx[c] = T(acc_t<T>(dx[c]) + acc_t<T>(y[c]) * (acc_t<T>(dy[c]) - dot));
    }
  }
}

}  // namespace

void softmax_forward(const Tensor& x, Tensor& y) {
  if (x.numel() == 0) return;
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  visit_floating(x.dtype(), "softmax_forward", [&]<class T>() {
    const T* px = x.data<T>();
    T* py = y.mutable_data<T>();
    parallel_for(rows, kGrain / cols + 1, [&](int64_t begin, int64_t end) {
      isa_call<softmax_forward_rows<T>>(px + begin * cols, py + begin * cols, end - begin, cols);
    });
  });
}

void softmax_backward(const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum) {
  if (y.numel() == 0) return;
  const int64_t cols = y.size(-1), rows = y.numel() / cols;
  visit_floating(y.dtype(), "softmax_backward", [&]<class T>() {
    const T* py = y.data<T>();
    const T* pdy = dy.data<T>();
    T* pdx = dx.mutable_data<T>();
    parallel_for(rows, kGrain / cols + 1, [&](int64_t begin, int64_t end) {
      isa_call<softmax_backward_rows<T>>(py + begin * cols, pdy + begin * cols, pdx + begin * cols,
                                         end - begin, cols, accum);
    });
  });
}

}  // namespace tare::kernels::cpu
