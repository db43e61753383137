// SPDX-License-Identifier: Apache-2.0
// What the kernels of LayerNorm and RMSNorm share.
#pragma once
#include <type_traits>

#include "tare/core/tensor.h"
#include "tare/kernels/accum.h"
#include "tare/kernels/cuda/device.cuh"

namespace tare::kernels::cuda {

// Sums over rows: a block takes a tile of kTileCols columns, one for each threadIdx.x, and threadIdx.y shares
// the rows out in kTileRows groups.
inline constexpr int kTileCols = 32, kTileRows = 8;

inline Launch column_launch(int64_t cols, int64_t pieces, cudaStream_t stream) {
  return {dim3(unsigned((cols + kTileCols - 1) / kTileCols), unsigned(pieces)), dim3(kTileCols, kTileRows), 0,
          stream};
}
__device__ __forceinline__ int64_t tile_column() { return int64_t(blockIdx.x) * kTileCols + threadIdx.x; }

// The sum over the row groups, in their order, for threads with threadIdx.y = 0. All threads of the block
// must come.
template <class A> __device__ __forceinline__ A tile_sum(A v, A (&scratch)[kTileRows][kTileCols]) {
  scratch[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  A sum = scratch[0][threadIdx.x];
  for (int group = 1; group < kTileRows; ++group) sum += scratch[group][threadIdx.x];
  return sum;
}

// gradient[c] = or += the sum of sums[piece, c] over the pieces, in a fixed order.
template <class A, class G>
__global__ void __launch_bounds__(kTileCols* kTileRows)
    add_pieces_kernel(const A* sums, int64_t pieces, G* gradient, int64_t cols, Accum accum) {
  SHARED(scratch, A[kTileRows][kTileCols]);
  const int64_t c = tile_column();
  A sum = 0;
  if (c < cols)
    for (int64_t piece = threadIdx.y; piece < pieces; piece += kTileRows) sum += sums[piece * cols + c];
  sum = tile_sum(sum, scratch);
  if (threadIdx.y == 0 && c < cols) gradient[c] = accum == Accum::set ? G(sum) : G(A(gradient[c]) + sum);
}

// The same for a gradient tensor; nothing for null.
template <class A>
void add_pieces(const A* sums, int64_t pieces, Tensor* gradient, Accum accum, cudaStream_t stream) {
  if (!gradient) return;
  const int64_t cols = gradient->numel();
  const Launch l = column_launch(cols, 1, stream);
  visit_floating(gradient->dtype(), "add_pieces", [&]<class G>() {
    if constexpr (std::is_same_v<acc_t<G>, A>) {
      launch<add_pieces_kernel<A, G>>(l, sums, pieces, gradient->mutable_data<G>(), cols, accum);
    } else {
      TARE_UNREACHABLE();  // the fronts check it
    }
  });
}

// f.template operator()<T, W>() for the types of x and of the weights: T or the type of T's sums.
template <class F> void visit_norm(const char* op, DType x, DType weight, F&& f) {
  visit_floating(x, op, [&]<class T>() {
    if (weight == x)
      f.template operator()<T, T>();
    else
      f.template operator()<T, acc_t<T>>();
  });
}

}  // namespace tare::kernels::cuda
