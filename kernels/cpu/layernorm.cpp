// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/layernorm.h"

#include <cmath>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/norm.h"
#include "tare/kernels/cpu/row_sum.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements per thread at least

template <class T> struct SquaredDistance {
  const T* x;
  acc_t<T> mean;
  TARE_INLINE acc_t<T> operator()(int64_t c) const {
    const acc_t<T> distance = acc_t<T>(x[c]) - mean;
    return distance * distance;
  }
};

template <class T, class W> struct LayerNormForward {
  const T* x;
  const W *gamma, *beta;
  acc_t<T> eps;
  T* y;
  acc_t<T>*mean, *rstd;
};

template <class T, class W>
TARE_INLINE void layernorm_forward_rows(LayerNormForward<T, W> a, int64_t begin, int64_t end, int64_t cols) {
  using A = acc_t<T>;
  for (int64_t row = begin; row < end; ++row) {
    const T* x = a.x + row * cols;
    T* y = a.y + row * cols;
    const A mean = row_sum<A>(cols, Value<T>{x}) / A(cols);
    const A var = row_sum<A>(cols, SquaredDistance<T>{x, mean}) / A(cols);
    const A rstd = 1 / std::sqrt(var + a.eps);
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) y[c] = T((A(x[c]) - mean) * rstd * A(a.gamma[c]) + A(a.beta[c]));
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T, class W> struct LayerNormBackward {
  const T* x;
  const W* gamma;
  const acc_t<T>*mean, *rstd;
  const T* dy;
  T* dx;  // null: not wanted
  Accum dx_accum;
  acc_t<T>*dgamma, *dbeta;  // sums of each piece, (pieces, cols); null: not wanted
};

template <class T, class W>
TARE_INLINE void layernorm_backward_row(const LayerNormBackward<T, W>& a, int64_t row, int64_t cols) {
  using A = acc_t<T>;
  const T *x = a.x + row * cols, *dy = a.dy + row * cols;
  T* dx = a.dx + row * cols;
  const A mean = a.mean[row], rstd = a.rstd[row];
  const A mean_g = row_sum<A>(cols, Product<T, W>{dy, a.gamma}) / A(cols);
  const A mean_gh = row_sum<A>(cols, ProductTimesDistance<T, W>{dy, a.gamma, x, mean}) * rstd / A(cols);
  if (a.dx_accum == Accum::set) {
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) {
      const A h = (A(x[c]) - mean) * rstd;
      dx[c] = T(rstd * (A(dy[c]) * A(a.gamma[c]) - mean_g - h * mean_gh));
    }
  } else {
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) {
      const A h = (A(x[c]) - mean) * rstd;
      dx[c] = T(A(dx[c]) + rstd * (A(dy[c]) * A(a.gamma[c]) - mean_g - h * mean_gh));
    }
  }
}

template <class T, class W>
TARE_INLINE void layernorm_backward_piece(LayerNormBackward<T, W> a, RowPieces pieces, int64_t piece,
                                          int64_t cols) {
  using A = acc_t<T>;
  A* dgamma = a.dgamma ? a.dgamma + piece * cols : nullptr;
  A* dbeta = a.dbeta ? a.dbeta + piece * cols : nullptr;
  if (dgamma) zero_row(dgamma, cols);
  if (dbeta) zero_row(dbeta, cols);
  for (int64_t row = pieces.begin(piece); row < pieces.end(piece); ++row) {
    const T *x = a.x + row * cols, *dy = a.dy + row * cols;
    const A mean = a.mean[row], rstd = a.rstd[row];
    // Before dx, which may overwrite dy.
    if (dgamma) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dgamma[c] += A(dy[c]) * ((A(x[c]) - mean) * rstd);
    }
    if (dbeta) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dbeta[c] += A(dy[c]);
    }
    if (a.dx) layernorm_backward_row(a, row, cols);
  }
}

}  // namespace

void layernorm_forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps, Tensor& y,
                       Tensor& mean, Tensor& rstd) {
  if (x.numel() == 0) return;
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  visit_norm("layernorm_forward", x.dtype(), gamma.dtype(), [&]<class T, class W>() {
    const LayerNormForward<T, W> a{x.data<T>(),
                                   gamma.data<W>(),
                                   beta.data<W>(),
                                   acc_t<T>(eps),
                                   y.mutable_data<T>(),
                                   mean.mutable_data<acc_t<T>>(),
                                   rstd.mutable_data<acc_t<T>>()};
    parallel_for(rows, kGrain / cols + 1, [&](int64_t begin, int64_t end) {
      isa_call<layernorm_forward_rows<T, W>>(a, begin, end, cols);
    });
  });
}

void layernorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                        const Tensor& dy, LayerNormGrads& grads, Tensor& scratch) {
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const RowPieces pieces = row_pieces(rows);
  visit_norm("layernorm_backward", x.dtype(), gamma.dtype(), [&]<class T, class W>() {
    using A = acc_t<T>;
    A* sums = static_cast<A*>(scratch.mutable_raw());
    A* dbeta_sums = sums + pieces.count * cols;
    const LayerNormBackward<T, W> a{x.data<T>(),
                                    gamma.data<W>(),
                                    mean.data<A>(),
                                    rstd.data<A>(),
                                    dy.data<T>(),
                                    grads.dx ? grads.dx->mutable_data<T>() : nullptr,
                                    grads.dx_accum,
                                    grads.dgamma ? sums : nullptr,
                                    grads.dbeta ? dbeta_sums : nullptr};
    parallel_for(pieces.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece)
        isa_call<layernorm_backward_piece<T, W>>(a, pieces, piece, cols);
    });
    add_pieces(sums, pieces.count, grads.dgamma, grads.dgamma_accum);
    add_pieces(dbeta_sums, pieces.count, grads.dbeta, grads.dbeta_accum);
  });
}

}  // namespace tare::kernels::cpu
