// SPDX-License-Identifier: Apache-2.0
// Reductions over a warp and over a block, in a fixed order: the same bits in every run. And vectors of N
// elements that are loaded and stored as one.
#pragma once
#include "tare/kernels/cuda/device.cuh"

namespace tare::kernels::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

struct Sum {
  template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};

struct Max {  // keeps a NaN, as the CPU twins do
  template <class T> __device__ T operator()(T a, T b) const { return a < b || b != b ? b : a; }
};

// Every lane gets the result. All 32 lanes must come.
template <class Op, class T> __device__ __forceinline__ T warp_reduce(Op op, T v) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    v = op(v, __shfl_xor_sync(kAllLanes, v, distance));
  return v;
}

// Every thread gets the result. The block is one-dimensional with Threads threads, all of which must come.
// `scratch` is shared memory, free again after the block's next barrier: consecutive reductions take turns
// with two of them.
template <int Threads, class Op, class T>
__device__ __forceinline__ T block_reduce(Op op, T v, T (&scratch)[Threads / kWarp]) {
  static_assert(Threads % kWarp == 0 && Threads <= 1024);
  v = warp_reduce(op, v);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = v;
  __syncthreads();
  T result = scratch[0];
#pragma unroll
  for (int warp = 1; warp < Threads / kWarp; ++warp) result = op(result, scratch[warp]);
  return result;
}

// N consecutive elements, moved in pieces of 16 bytes, or by one instruction when they are fewer.
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec { T v[N]; };

// p is aligned as Vec<T, N> is.
template <int N, class T> __device__ __forceinline__ Vec<T, N> load(const T* p) {
  return *reinterpret_cast<const Vec<T, N>*>(p);
}

template <int N, class T> __device__ __forceinline__ void store(T* p, const Vec<T, N>& v) {
  *reinterpret_cast<Vec<T, N>*>(p) = v;
}

}  // namespace tare::kernels::cuda
