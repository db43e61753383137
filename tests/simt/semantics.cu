// SPDX-License-Identifier: Apache-2.0
// See semantics.h.
#include "tests/simt/semantics.h"

#include <stdexcept>

#include "tare/kernels/cuda/device.cuh"

namespace simt_test {
namespace {

using namespace tare::kernels::cuda;

// Two warps, the second of 8 threads only; lane 9 of the first (and some others) report what they got.
__global__ void collectives_kernel(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int count = __syncthreads_count(t % 3 == 0), any = __syncthreads_or(t == 39),
            all = __syncthreads_and(t < 39);
  if (t == 0) out[0] = count, out[1] = any, out[2] = all;
  if (t >= 32) {  // a partial warp with the mask of its threads
    const int v = __shfl_down_sync(0xffu, t, 3, 8);
    if (t == 34) out[3] = v;
    return;
  }
  const int xor_wide = __shfl_xor_sync(~0u, t, 6), xor_narrow = __shfl_xor_sync(~0u, t, 8, 8);
  const int broadcast = __shfl_sync(~0u, t, 3, 8), down = __shfl_down_sync(~0u, t, 5, 8),
            up = __shfl_up_sync(~0u, t, 4);
  const unsigned ballot = __ballot_sync(~0u, t % 4 == 1);
  const int any_lane = __any_sync(~0u, t == 31), all_lanes = __all_sync(~0u, t < 31);
  const double wide = __shfl_sync(~0u, t + 0.5, 11);
  if (t == 9) {
    out[4] = xor_wide, out[5] = xor_narrow, out[6] = broadcast, out[7] = down, out[8] = up;
    out[9] = static_cast<int>(ballot), out[10] = any_lane, out[11] = all_lanes,
    out[12] = static_cast<int>(wide * 2);
  }
  if (t == 13) out[13] = down;  // 13 + 5 leaves the group of 8: the own value
  if (t == 2) out[14] = up;     // 2 - 4 leaves the warp: the own value
}

__global__ void indices_kernel(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  out[i] = static_cast<int>(i);
}

__global__ void histogram_kernel(int* bins, float* sum, int n) {
  SHARED(local, int[16]);
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) {
    atomicAdd(&local[i % 16], 1);
    atomicAdd(sum, 0.5f);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void spin_lock_kernel(int* lock) {
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  atomicExch(lock + 1, atomicAdd(lock + 1, 0) + 1);  // wrong without the lock
  __threadfence();
  atomicExch(lock, 0);
}

__global__ void dynamic_shared_kernel(int* out, int bytes) {
  DYNAMIC_SHARED(tile, volatile unsigned char);
  if (threadIdx.x == 0) {
    out[0] = static_cast<int>(reinterpret_cast<uintptr_t>(tile) % 128);
    tile[bytes - 1] = 255;
    out[1] = tile[bytes - 1];
  }
}

__global__ void nothing_kernel() {}

__global__ void throwing_kernel() {
  if (threadIdx.x == 5) throw std::runtime_error("five");
}

__global__ void fill_kernel(int* p, int value) { p[threadIdx.x] = value; }

__global__ void copy_kernel(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }

template <class T, int N> __global__ void named_kernel(T) {}

}  // namespace

void run_collectives(int* out) { launch<collectives_kernel>({1, 40}, out); }

std::vector<int> expected_collectives() {
  return {14, 1, 0, 37, 15, 1, 11, 14, 5, 0x22222222, 1, 0, 23, 13, 2};
}

void run_indices(int* out) { launch<indices_kernel>({{3, 2, 2}, {4, 3, 2}}, out); }

void run_histogram(int* bins, float* sum, int n) {
  launch<histogram_kernel>({static_cast<unsigned>(n + 127) / 128, 128}, bins, sum, n);
}

void run_spin_lock(int* lock) { launch<spin_lock_kernel>({2, 256}, lock); }

void run_dynamic_shared(int* out, size_t bytes) {
  launch<dynamic_shared_kernel>({1, 32, bytes}, out, static_cast<int>(bytes));
}

void run_nothing(dim3 grid, dim3 block, size_t smem) { launch<nothing_kernel>({grid, block, smem}); }

void run_throwing(cudaStream_t stream) { launch<throwing_kernel>({1, 32, 0, stream}); }

void run_fill(int* p, int value, cudaStream_t stream) { launch<fill_kernel>({1, 32, 0, stream}, p, value); }

void run_copy(const int* from, int* to, cudaStream_t stream) {
  launch<copy_kernel>({1, 32, 0, stream}, from, to);
}

std::string_view name_of_template_kernel() { return kernel_name<named_kernel<float, 128>>(); }

}  // namespace simt_test
