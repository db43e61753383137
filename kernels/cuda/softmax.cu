// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/softmax.h"

#include <limits>

#include "tare/kernels/cuda/reduce.cuh"
#include "tare/kernels/cuda/rows.cuh"
#include "tare/kernels/math.h"

namespace tare::kernels::cuda {
namespace {

// Each thread meets the same columns in every pass, so that y may be x.
template <class T, int kThreads, int kVec>
__global__ void __launch_bounds__(RowBlock<kThreads>::kSize)
    softmax_forward_kernel(const T* x, T* y, int64_t rows, int64_t cols) {
  SHARED(scratch, RowScratch<acc_t<T>, kThreads>[2]);
  const int64_t row = RowBlock<kThreads>::row();
  if (row >= rows) return;
  x += row * cols, y += row * cols;
  acc_t<T> max = -std::numeric_limits<acc_t<T>>::infinity();
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vx = load<kVec>(x + c);
    for (int i = 0; i < kVec; ++i) max = Max()(max, acc_t<T>(vx.v[i]));
  });
  max = row_reduce<kThreads>(Max(), max, scratch[0]);
  acc_t<T> sum = 0;
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vx = load<kVec>(x + c);
    for (int i = 0; i < kVec; ++i) sum += math::exp(acc_t<T>(vx.v[i]) - max);
  });
  const acc_t<T> inverse = 1 / row_reduce<kThreads>(Sum(), sum, scratch[1]);
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    auto v = load<kVec>(x + c);
    for (int i = 0; i < kVec; ++i) v.v[i] = T(math::exp(acc_t<T>(v.v[i]) - max) * inverse);
    store(y + c, v);
  });
}

template <class T, int kThreads, int kVec>
__global__ void __launch_bounds__(RowBlock<kThreads>::kSize)
    softmax_backward_kernel(const T* y, const T* dy, T* dx, int64_t rows, int64_t cols, Accum accum) {
  SHARED(scratch, RowScratch<acc_t<T>, kThreads>);
  const int64_t row = RowBlock<kThreads>::row();
  if (row >= rows) return;
  y += row * cols, dy += row * cols, dx += row * cols;
  acc_t<T> dot = 0;
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vy = load<kVec>(y + c);
    const auto vdy = load<kVec>(dy + c);
    for (int i = 0; i < kVec; ++i) dot += acc_t<T>(vy.v[i]) * acc_t<T>(vdy.v[i]);
  });
  dot = row_reduce<kThreads>(Sum(), dot, scratch);
  for_columns<kThreads, kVec>(cols, [&](int64_t c) {
    const auto vy = load<kVec>(y + c);
    const auto vdy = load<kVec>(dy + c);
    auto vdx = accum == Accum::add ? load<kVec>(dx + c) : Vec<T, kVec>{};
    for (int i = 0; i < kVec; ++i)
      vdx.v[i] = T(acc_t<T>(vdx.v[i]) + acc_t<T>(vy.v[i]) * (acc_t<T>(vdy.v[i]) - dot));
    store(dx + c, vdx);
  });
}

}  // namespace

void softmax_forward(const Tensor& x, Tensor& y) {
  if (x.numel() == 0) return;
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  const cudaStream_t stream = tare::cuda::compute_stream(x.device());
  visit_floating(x.dtype(), "softmax_forward", [&]<class T>() {
    const T* px = x.data<T>();
    T* py = y.mutable_data<T>();
    visit_row_layout<T>(cols, {px, py}, [&]<int kThreads, int kVec>() {
      launch<softmax_forward_kernel<T, kThreads, kVec>>(row_launch<kThreads>(rows, stream), px, py, rows,
                                                        cols);
    });
  });
}

void softmax_backward(const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum) {
  if (y.numel() == 0) return;
  const int64_t cols = y.size(-1), rows = y.numel() / cols;
  const cudaStream_t stream = tare::cuda::compute_stream(y.device());
  visit_floating(y.dtype(), "softmax_backward", [&]<class T>() {
    const T* py = y.data<T>();
    const T* pdy = dy.data<T>();
    T* pdx = dx.mutable_data<T>();
    visit_row_layout<T>(cols, {py, pdy, pdx}, [&]<int kThreads, int kVec>() {
      launch<softmax_backward_kernel<T, kThreads, kVec>>(row_launch<kThreads>(rows, stream), py, pdy, pdx,
                                                         rows, cols, accum);
    });
  });
}

}  // namespace tare::kernels::cuda
