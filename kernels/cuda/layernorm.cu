// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/layernorm.h"

#include <cmath>

#include "tare/kernels/cuda/norm.cuh"
#include "tare/kernels/cuda/rows.cuh"
#include "tare/kernels/row_pieces.h"

namespace tare::kernels::cuda {
namespace {

template <class T, class W> struct LayerNormForward {
  const T* x;
  const W *gamma, *beta;
  acc_t<T> eps;
  T* y;
  acc_t<T>*mean, *rstd;
};

// Each thread meets the same columns in every pass, so that y may be x.
template <class T, class W, int kThreads, int kVec>
__global__ void __launch_bounds__(RowBlock<kThreads>::kSize)
    layernorm_forward_kernel(LayerNormForward<T, W> a, int64_t rows, int64_t cols) {
  using A = acc_t<T>;
  SHARED(scratch, RowScratch<A, kThreads>[2]);
  const int64_t row = RowBlock<kThreads>::row();
  if (row >= rows) return;
  const T* x = a.x + row * cols;
  T* y = a.y + row * cols;
  A sum = 0;
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vx = load<kVec>(x + c);
    for (int i = 0; i < kVec; ++i) sum += A(vx.v[i]);
  });
  const A mean = row_reduce<kThreads>(Sum(), sum, scratch[0]) / A(cols);
  A squares = 0;
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vx = load<kVec>(x + c);
    for (int i = 0; i < kVec; ++i) squares += (A(vx.v[i]) - mean) * (A(vx.v[i]) - mean);
  });
  const A var = row_reduce<kThreads>(Sum(), squares, scratch[1]) / A(cols);
  const A rstd = 1 / std::sqrt(var + a.eps);
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    auto v = load<kVec>(x + c);
    const auto gamma = load<kVec>(a.gamma + c), beta = load<kVec>(a.beta + c);
    for (int i = 0; i < kVec; ++i) v.v[i] = T((A(v.v[i]) - mean) * rstd * A(gamma.v[i]) + A(beta.v[i]));
    store(y + c, v);
  });
  if (threadIdx.x == 0) a.mean[row] = mean, a.rstd[row] = rstd;
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

template <class T, class W, int kThreads, int kVec>
__global__ void __launch_bounds__(RowBlock<kThreads>::kSize)
    layernorm_backward_row_kernel(LayerNormBackward<T, W> a, int64_t rows, int64_t cols) {
  using A = acc_t<T>;
  SHARED(scratch, RowScratch<A, kThreads>[2]);
  const int64_t row = RowBlock<kThreads>::row();
  if (row >= rows) return;
  const T *x = a.x + row * cols, *dy = a.dy + row * cols;
  T* dx = a.dx + row * cols;
  const A mean = a.mean[row], rstd = a.rstd[row];
  A sum_g = 0, sum_gh = 0;  // of g = dy * gamma and of g * (x - mean)
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vx = load<kVec>(x + c), vdy = load<kVec>(dy + c);
    const auto gamma = load<kVec>(a.gamma + c);
    for (int i = 0; i < kVec; ++i) {
      const A g = A(vdy.v[i]) * A(gamma.v[i]);
      sum_g += g;
      sum_gh += g * (A(vx.v[i]) - mean);
    }
  });
  const A mean_g = row_reduce<kThreads>(Sum(), sum_g, scratch[0]) / A(cols);
  const A mean_gh = row_reduce<kThreads>(Sum(), sum_gh, scratch[1]) * rstd / A(cols);
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vx = load<kVec>(x + c), vdy = load<kVec>(dy + c);
    const auto gamma = load<kVec>(a.gamma + c);
    auto vdx = a.dx_accum == Accum::add ? load<kVec>(dx + c) : Vec<T, kVec>{};
    for (int i = 0; i < kVec; ++i) {
      const A h = (A(vx.v[i]) - mean) * rstd;
      vdx.v[i] = T(A(vdx.v[i]) + rstd * (A(vdy.v[i]) * A(gamma.v[i]) - mean_g - h * mean_gh));
    }
    store(dx + c, vdx);
  });
}

// One piece of rows (blockIdx.y), one tile of columns.
template <class T, class W>
__global__ void __launch_bounds__(kTileCols* kTileRows)
    layernorm_backward_piece_kernel(LayerNormBackward<T, W> a, RowPieces pieces, int64_t cols) {
  using A = acc_t<T>;
  SHARED(scratch, A[2][kTileRows][kTileCols]);
  const int64_t piece = blockIdx.y, c = tile_column();
  A dgamma = 0, dbeta = 0;
  if (c < cols)
    for (int64_t row = pieces.begin(piece) + threadIdx.y; row < pieces.end(piece); row += kTileRows) {
      const A dy = A(a.dy[row * cols + c]);
      dgamma += dy * ((A(a.x[row * cols + c]) - a.mean[row]) * a.rstd[row]);
      dbeta += dy;
    }
  dgamma = tile_sum(dgamma, scratch[0]);
  dbeta = tile_sum(dbeta, scratch[1]);
  if (threadIdx.y != 0 || c >= cols) return;
  if (a.dgamma) a.dgamma[piece * cols + c] = dgamma;
  if (a.dbeta) a.dbeta[piece * cols + c] = dbeta;
}

}  // namespace

void layernorm_forward(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps, Tensor& y,
                       Tensor& mean, Tensor& rstd) {
  if (x.numel() == 0) return;
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const cudaStream_t stream = tare::cuda::compute_stream(x.device());
  visit_norm("layernorm_forward", x.dtype(), gamma.dtype(), [&]<class T, class W>() {
    const LayerNormForward<T, W> a{x.data<T>(),
                                   gamma.data<W>(),
                                   beta.data<W>(),
                                   acc_t<T>(eps),
                                   y.mutable_data<T>(),
                                   mean.mutable_data<acc_t<T>>(),
                                   rstd.mutable_data<acc_t<T>>()};
    visit_row_layout<T>(cols, {a.x, a.gamma, a.beta, a.y}, [&]<int kThreads, int kVec>() {
      launch<layernorm_forward_kernel<T, W, kThreads, kVec>>(row_launch<kThreads>(rows, stream), a, rows,
                                                             cols);
    });
  });
}

void layernorm_backward(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                        const Tensor& dy, LayerNormGrads& grads, Tensor& scratch) {
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const RowPieces pieces = row_pieces(rows);
  const cudaStream_t stream = tare::cuda::compute_stream(x.device());
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
    // Before dx, which may overwrite dy.
    if (rows > 0 && (a.dgamma || a.dbeta))
      launch<layernorm_backward_piece_kernel<T, W>>(column_launch(cols, pieces.count, stream), a, pieces,
                                                    cols);
    if (rows > 0 && a.dx)
      visit_row_layout<T>(cols, {a.x, a.gamma, a.dy, a.dx}, [&]<int kThreads, int kVec>() {
        launch<layernorm_backward_row_kernel<T, W, kThreads, kVec>>(row_launch<kThreads>(rows, stream), a,
                                                                    rows, cols);
      });
    add_pieces(sums, pieces.count, grads.dgamma, grads.dgamma_accum, stream);
    add_pieces(dbeta_sums, pieces.count, grads.dbeta, grads.dbeta_accum, stream);
  });
}

}  // namespace tare::kernels::cuda
