// SPDX-License-Identifier: Apache-2.0
// Multi-tensor kernels: each block takes one chunk of one tensor of a table, whatever the sizes of the
// tensors.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tare/core/cuda/stream.h"
#include "tare/kernels/cuda/reduce.cuh"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels::cuda {

inline constexpr int kChunkThreads = 256;
// Elements. Large enough to hide the search for the tensor, small enough that a small model fills a GPU.
inline constexpr int64_t kChunk = 4096;

// Blocks are numbered so that a tensor starts at block first / kChunk + its number: with rounding down, that
// leaves each tensor the blocks it needs and at most one more. No table of blocks is needed.
__host__ __device__ inline int64_t first_block(const TensorEntry& e, int64_t number) {
  return e.first / kChunk + number;
}

inline Launch table_launch(const TensorTable& table, cudaStream_t stream) {
  return {linear_grid(table.numel() / kChunk + table.count()), kChunkThreads, 0, stream};
}

struct TableChunk {
  int64_t entry;       // of the table
  int64_t begin, end;  // its elements; begin >= end: nothing to do
};

// The chunk of a block: the last tensor that starts at or before it.
__device__ inline TableChunk find_chunk(const TensorEntry* entries, int64_t count, int64_t block) {
  int64_t low = 0, high = count;  // entries[low] starts at or before the block, entries[high] behind it
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (first_block(entries[middle], middle) <= block ? low : high) = middle;
  }
  const int64_t begin = (block - first_block(entries[low], low)) * kChunk, numel = entries[low].numel;
  return {low, begin, begin + kChunk < numel ? begin + kChunk : numel};
}

// Vectors of N elements may be loaded from a tensor that starts at p: chunks start on multiples of N.
template <int N, class T> __device__ __forceinline__ bool aligned_for(const T* p) {
  return reinterpret_cast<uintptr_t>(p) % alignof(Vec<T, N>) == 0;
}

// vector(i) for groups of N elements where `aligned`, scalar(i) for what is left of the chunk.
template <int N, class V, class S>
__device__ __forceinline__ void for_chunk(const TableChunk& chunk, bool aligned, V vector, S scalar) {
  const int64_t begin = chunk.begin, end = chunk.end;
  int64_t rest = begin;
  if (aligned && begin < end) {
    rest = end - (end - begin) % N;
    for (int64_t i = begin + int64_t(threadIdx.x) * N; i < rest; i += kChunkThreads * N) vector(i);
  }
  for (int64_t i = rest + threadIdx.x; i < end; i += kChunkThreads) scalar(i);
}

}  // namespace tare::kernels::cuda
