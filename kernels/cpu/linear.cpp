// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/linear.h"

#include <algorithm>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/gemm.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;      // elements per thread at least
constexpr int64_t kColumns = 64;       // that stay with one thread
constexpr int64_t kStrip = 1024;       // columns that are summed together: long runs of memory, sums in L1
constexpr int64_t kRowsPerFlush = 64;  // rows whose sum stays in f32

// total[c] = sum over rows of dy[r, c], cols <= kStrip.
template <class T>
TARE_INLINE void sum_columns(const T* dy, int64_t dy_row, int64_t rows, int64_t cols, double* total) {
  using A = acc_t<T>;
  std::fill_n(total, cols, 0.0);
  for (int64_t r = 0; r < rows; r += kRowsPerFlush) {
    const int64_t last = std::min(rows, r + kRowsPerFlush);
    alignas(64) A sum[kStrip] = {};
    int64_t i = r;
    for (; i + 4 <= last; i += 4) {
      const T* p = dy + i * dy_row;
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c)
        sum[c] += (A(p[c]) + A(p[c + dy_row])) + (A(p[c + 2 * dy_row]) + A(p[c + 3 * dy_row]));
    }
    for (; i < last; ++i) {
      const T* p = dy + i * dy_row;
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) sum[c] += A(p[c]);
    }
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) total[c] += double(sum[c]);
  }
}

template <class T, class D> void backward_bias_typed(const Tensor& dy, Tensor& dbias, Accum accum) {
  using A = acc_t<D>;
  const T* pdy = dy.data<T>();
  D* pd = dbias.mutable_data<D>();
  const int64_t rows = dy.size(0), cols = dy.size(1), dy_row = dy.stride(0);
  parallel_for((cols + kColumns - 1) / kColumns, kGrain / (kColumns * (rows + 1)) + 1,
               [&](int64_t begin, int64_t end) {
                 const int64_t last = std::min(end * kColumns, cols);
                 for (int64_t c = begin * kColumns; c < last; c += kStrip) {
                   double total[kStrip];
                   const int64_t width = std::min(kStrip, last - c);
                   isa_call<sum_columns<T>>(pdy + c, dy_row, rows, width, total);
                   for (int64_t i = 0; i < width; ++i)
                     pd[c + i] = D(A(accum == Accum::add ? double(A(pd[c + i])) + total[i] : total[i]));
                 }
               });
}

}  // namespace

void linear_forward(const Tensor& x, const Tensor& w, const Tensor& bias, Activation activation, Tensor& y) {
  if (y.numel() == 0) return;
  visit_floating(x.dtype(), "linear_forward", [&]<class T>() {
    gemm<T, T>({.a = x.data<T>(),
                .a_row = x.stride(0),
                .a_col = x.stride(1),
                .b = w.data<T>(),
                .b_row = w.stride(1),
                .b_col = w.stride(0),
                .c = y.mutable_data<T>(),
                .c_row = y.stride(0),
                .c_col = 1,
                .M = x.size(0),
                .N = w.size(0),
                .K = x.size(1),
                .bias = bias.defined() ? bias.data<T>() : nullptr,
                .activation = activation});
  });
}

void linear_backward_bias(const Tensor& dy, Tensor& dbias, Accum accum) {
  if (dbias.numel() == 0) return;
  visit_floating(dy.dtype(), "linear_backward_bias", [&]<class T>() {
    visit_floating(dbias.dtype(), "linear_backward_bias",
                   [&]<class D>() { backward_bias_typed<T, D>(dy, dbias, accum); });
  });
}

}  // namespace tare::kernels::cpu
