// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/rmsnorm.h"

#include <cmath>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/norm.h"
#include "tare/kernels/cpu/row_sum.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements per thread at least

template <class T, class W> struct RmsNormForward {
  const T* x;
  const W* gamma;
  acc_t<T> eps;
  T* y;
  acc_t<T>* rstd;
};

template <class T, class W>
TARE_INLINE void rmsnorm_forward_rows(RmsNormForward<T, W> a, int64_t begin, int64_t end, int64_t cols) {
  using A = acc_t<T>;
  for (int64_t row = begin; row < end; ++row) {
    const T* x = a.x + row * cols;
    T* y = a.y + row * cols;
    const A rstd = 1 / std::sqrt(row_sum<A>(cols, Square<T>{x}) / A(cols) + a.eps);
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) y[c] = T(A(x[c]) * rstd * A(a.gamma[c]));
    a.rstd[row] = rstd;
  }
}

template <class T, class W> struct RmsNormBackward {
  const T* x;
  const W* gamma;
  const acc_t<T>* rstd;
  const T* dy;
  T* dx;  // null: not wanted
  Accum dx_accum;
  acc_t<T>* dgamma;  // sums of each piece, (pieces, cols); null: not wanted
};

template <class T, class W>
TARE_INLINE void rmsnorm_backward_row(const RmsNormBackward<T, W>& a, int64_t row, int64_t cols) {
  using A = acc_t<T>;
  const T *x = a.x + row * cols, *dy = a.dy + row * cols;
  T* dx = a.dx + row * cols;
  const A rstd = a.rstd[row];
  const A mean_gh = row_sum<A>(cols, ProductTimesDistance<T, W>{dy, a.gamma, x, 0}) * rstd / A(cols);
  if (a.dx_accum == Accum::set) {
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c)
      dx[c] = T(rstd * (A(dy[c]) * A(a.gamma[c]) - A(x[c]) * rstd * mean_gh));
  } else {
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c)
      dx[c] = T(A(dx[c]) + rstd * (A(dy[c]) * A(a.gamma[c]) - A(x[c]) * rstd * mean_gh));
  }
}

template <class T, class W>
TARE_INLINE void rmsnorm_backward_piece(RmsNormBackward<T, W> a, RowPieces pieces, int64_t piece,
                                        int64_t cols) {
  using A = acc_t<T>;
  A* dgamma = a.dgamma ? a.dgamma + piece * cols : nullptr;
  if (dgamma) zero_row(dgamma, cols);
  for (int64_t row = pieces.begin(piece); row < pieces.end(piece); ++row) {
    const T *x = a.x + row * cols, *dy = a.dy + row * cols;
    const A rstd = a.rstd[row];
    // Before dx, which may overwrite dy.
    if (dgamma) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dgamma[c] += A(dy[c]) * (A(x[c]) * rstd);
    }
    if (a.dx) rmsnorm_backward_row(a, row, cols);
  }
}

}  // namespace

void rmsnorm_forward(const Tensor& x, const Tensor& gamma, double eps, Tensor& y, Tensor& rstd) {
  if (x.numel() == 0) return;
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  visit_norm("rmsnorm_forward", x.dtype(), gamma.dtype(), [&]<class T, class W>() {
    const RmsNormForward<T, W> a{x.data<T>(), gamma.data<W>(), acc_t<T>(eps), y.mutable_data<T>(),
                                 rstd.mutable_data<acc_t<T>>()};
    parallel_for(rows, kGrain / cols + 1, [&](int64_t begin, int64_t end) {
      isa_call<rmsnorm_forward_rows<T, W>>(a, begin, end, cols);
    });
  });
}

void rmsnorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& rstd, const Tensor& dy,
                      RmsNormGrads& grads, Tensor& scratch) {
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const RowPieces pieces = row_pieces(rows);
  visit_norm("rmsnorm_backward", x.dtype(), gamma.dtype(), [&]<class T, class W>() {
    using A = acc_t<T>;
    A* sums = static_cast<A*>(scratch.mutable_raw());
    const RmsNormBackward<T, W> a{x.data<T>(),
                                  gamma.data<W>(),
                                  rstd.data<A>(),
                                  dy.data<T>(),
                                  grads.dx ? grads.dx->mutable_data<T>() : nullptr,
                                  grads.dx_accum,
                                  grads.dgamma ? sums : nullptr};
    parallel_for(pieces.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        isa_call<rmsnorm_backward_piece<T, W>>(a, pieces, piece, cols);
    });
    add_pieces(sums, pieces.count, grads.dgamma, grads.dgamma_accum);
  });
}

}  // namespace tare::kernels::cpu
