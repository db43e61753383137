// SPDX-License-Identifier: Apache-2.0
// Kernels that work on the rows of a dense (rows, cols) tensor: who works on which row, how its columns are
// shared out, and reductions over the row. Short rows get a warp each, four to a block; long rows a block
// each.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "tare/core/cuda/stream.h"
#include "tare/kernels/cuda/reduce.cuh"

namespace tare::kernels::cuda {

// A block whose rows have kThreads threads each: threadIdx.x counts within the row, threadIdx.y the rows.
template <int kThreads> struct RowBlock {
  static constexpr int kRows = kThreads == kWarp ? 4 : 1;
  static constexpr int kSize = kThreads * kRows;
  static __device__ __forceinline__ int64_t row() { return block_index() * kRows + threadIdx.y; }
};

template <int kThreads> Launch row_launch(int64_t rows, cudaStream_t stream) {
  constexpr int kRows = RowBlock<kThreads>::kRows;
  return {linear_grid((rows + kRows - 1) / kRows), dim3(kThreads, kRows), 0, stream};
}

// f(c) for each group of kVec columns c .. c + kVec - 1 of this thread. cols is a multiple of kVec.
template <int kThreads, int kVec, class F> __device__ __forceinline__ void for_columns(int64_t cols, F f) {
  for (int64_t c = int64_t(threadIdx.x) * kVec; c < cols; c += kThreads * kVec) f(c);
}

// Shared memory of one reduction over a row of more than a warp.
template <class T, int kThreads> using RowScratch = T[kThreads / kWarp];

// Over the threads of the row; each gets the result. As block_reduce; a row of one warp needs no barrier, so
// that the rows of a block may end at different times.
template <int kThreads, class Op, class T>
__device__ __forceinline__ T row_reduce(Op op, T v, RowScratch<T, kThreads>& scratch) {
  if constexpr (kThreads == kWarp) {
    return warp_reduce(op, v);
  } else {
    return block_reduce<kThreads>(op, v, scratch);
  }
}

// f.template operator()<kThreads, kVec>(): the layout for rows of `cols` T. Vectors of 16 bytes where every
// row of every operand starts on a 16-byte boundary, single elements otherwise. f64, which is for checks and
// not for speed, has one layout only, since each is compiled for every architecture.
template <class T, class F>
void visit_row_layout(int64_t cols, std::initializer_list<const void*> operands, F&& f) {
  if constexpr (std::is_same_v<T, double>) {
    f.template operator()<kWarp, 1>();
  } else {
    constexpr int kVec = 16 / int(sizeof(T));
    constexpr int kLongRow = 256;         // threads
    constexpr int64_t kShortCols = 1024;  // 32 elements for each lane
    bool aligned = cols % kVec == 0;
    for (const void* p : operands) aligned &= reinterpret_cast<uintptr_t>(p) % 16 == 0;
    if (cols <= kShortCols) {
      aligned ? f.template operator()<kWarp, kVec>() : f.template operator()<kWarp, 1>();
    } else {
      aligned ? f.template operator()<kLongRow, kVec>() : f.template operator()<kLongRow, 1>();
    }
  }
}

}  // namespace tare::kernels::cuda
