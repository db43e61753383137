// SPDX-License-Identifier: Apache-2.0
// The planted bugs: see planted_bugs.h. `kBug` selects the wrong line.
#include "tests/simt/planted_bugs.h"

#include <vector>

#include "tare/kernels/cuda/reduce.cuh"

namespace simt_test {
namespace {

using namespace tare::kernels::cuda;

constexpr int kThreads = 128;

// ---- barriers
// ----------------------------------------------------------------------------------------------------
template <bool kBug> __global__ void missing_barrier_kernel(const float* x, float* y, unsigned*) {
  SHARED(scratch, float[kThreads / kWarp]);
  const float sum = warp_reduce(Sum(), x[threadIdx.x]);
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = sum;
  if (!kBug) __syncthreads();
  y[threadIdx.x] = scratch[0] + scratch[1] + scratch[2] + scratch[3];
}

template <bool kBug> __global__ void scratch_reused_kernel(const float* x, float* y, unsigned*) {
  SHARED(scratch, float[2][kThreads / kWarp]);
  const float mean = block_reduce<kThreads>(Sum(), x[threadIdx.x], scratch[0]) / kThreads;
  y[threadIdx.x] = block_reduce<kThreads>(Max(), x[threadIdx.x] - mean, scratch[kBug ? 0 : 1]);
}

template <bool kBug> __global__ void early_return_kernel(const float* x, float* y, unsigned*) {
  if (kBug && threadIdx.x >= 100) return;
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x];
}

template <bool kBug> __global__ void split_barrier_kernel(const float* x, float* y, unsigned*) {
  if (kBug && threadIdx.x < 64) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  y[threadIdx.x] = x[threadIdx.x];
}

// ---- warp collectives
// ----------------------------------------------------------------------------------------------
template <bool kBug> __global__ void wrong_mask_kernel(const float* x, float* y, unsigned*) {
  y[threadIdx.x] = __shfl_xor_sync(kBug ? 0x0000ffffu : kAllLanes, x[threadIdx.x], 1);
}

template <bool kBug> __global__ void absent_lane_kernel(const float* x, float* y, unsigned*) {
  float v = x[threadIdx.x];
  if (threadIdx.x % kWarp < 16) v = __shfl_sync(0x0000ffffu, v, kBug ? 20 : 3);
  y[threadIdx.x] = v;
}

template <bool kBug> __global__ void mixed_collectives_kernel(const float* x, float* y, unsigned*) {
  float v = x[threadIdx.x];
  if (kBug && threadIdx.x % kWarp == 0) {
    v += static_cast<float>(__ballot_sync(kAllLanes, 1));
  } else {
    v += __shfl_sync(kAllLanes, v, 0);
  }
  y[threadIdx.x] = v;
}

template <bool kBug> __global__ void missing_syncwarp_kernel(const float* x, float* y, unsigned*) {
  SHARED(exchange, float[kWarp]);
  exchange[threadIdx.x] = x[threadIdx.x];
  if (!kBug) __syncwarp();
  y[threadIdx.x] = exchange[kWarp - 1 - threadIdx.x];
}

// ---- memory
// ------------------------------------------------------------------------------------------------------
template <bool kBug> __global__ void global_overrun_kernel(const float* x, float* y, unsigned*) {
  const int n = kCount - 1, i = static_cast<int>(threadIdx.x) * 4 + kCount - 4 * kThreads;
  if (i + 4 <= n + (kBug ? 2 : 1)) y[threadIdx.x] = x[i + (kBug ? 4 : 3)];
}

template <bool kBug> __global__ void shared_overrun_kernel(const float* x, float* y, unsigned*) {
  SHARED(tile, float[kThreads]);
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float* next = tile + threadIdx.x + 1;
  y[threadIdx.x] = kBug || threadIdx.x + 1 < kThreads ? *next : 0.0f;
}

struct Tables {
  float first[32], second[32];
};

template <bool kBug> __global__ void table_overrun_kernel(const float* x, float* y, unsigned*) {
  SHARED(tables, Tables);
  if (threadIdx.x < 32) tables.first[threadIdx.x] = tables.second[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tables.first[threadIdx.x % 32 + (kBug ? 1 : 0)];
}

template <bool kBug> __global__ void uninitialised_shared_kernel(const float* x, float* y, unsigned*) {
  SHARED(sums, float[kThreads]);
  if (!kBug || threadIdx.x > 0) sums[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = sums[threadIdx.x] + sums[0];
}

template <bool kBug> __global__ void uninitialised_global_kernel(const float* x, float* y, unsigned*) {
  if (!kBug) y[threadIdx.x] = 0;
  y[threadIdx.x] += x[threadIdx.x];
}

template <bool kBug> __global__ void misaligned_kernel(const float* x, float* y, unsigned*) {
  y[threadIdx.x] = load<4>(x + 4 * threadIdx.x + (kBug ? 1 : 0)).v[0];
}

__global__ void copy_kernel(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

void launch_host_pointer(bool planted, const float* x, float* y, unsigned*) {
  const std::vector<float> host(kCount, 1.0f);
  launch<copy_kernel>({1, kThreads}, planted ? host.data() : x, y);
}

void launch_use_after_free(bool planted, const float* x, float* y, unsigned*) {
  float* freed = nullptr;
  TARE_CUDA(cudaMalloc(reinterpret_cast<void**>(&freed), kCount * sizeof(float)));
  TARE_CUDA(cudaMemset(freed, 0, kCount * sizeof(float)));
  TARE_CUDA(cudaFree(freed));
  launch<copy_kernel>({1, kThreads}, planted ? freed : x, y);
}

// ---- races in global memory
// ----------------------------------------------------------------------------------------
template <bool kBug> __global__ void race_in_block_kernel(const float* x, float* y, unsigned*) {
  y[threadIdx.x] = x[threadIdx.x];
  if (!kBug) __syncthreads();
  const float next = y[(threadIdx.x + 1) % kThreads];
  __syncthreads();
  y[threadIdx.x] = next;
}

template <bool kBug> __global__ void race_of_blocks_kernel(const float* x, float* y, unsigned*) {
  y[kBug ? threadIdx.x : blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

// The last block to finish adds up what the others left. The ticket orders the blocks only behind a fence.
template <bool kBug> __global__ void missing_fence_kernel(const float* x, float* y, unsigned* table) {
  SHARED(last, bool);
  const float sum = warp_reduce(Sum(), x[threadIdx.x]);
  if (threadIdx.x == 0) {
    y[1 + blockIdx.x] = sum;
    if (!kBug) __threadfence();
    last = atomicAdd(table, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x > 0) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += y[1 + b];
  y[0] = total;
}

template <void (*Wrong)(const float*, float*, unsigned*), void (*Right)(const float*, float*, unsigned*),
          unsigned kBlocks = 1, unsigned kBlock = kThreads>
void launch_either(bool planted, const float* x, float* y, unsigned* table) {
  const Launch l{kBlocks, kBlock};
  planted ? launch<Wrong>(l, x, y, table) : launch<Right>(l, x, y, table);
}

constexpr PlantedBug kBugs[] = {
    {"MissingBarrier", Finder::checker, "(race on|read of uninitialised) shared scratch\\+",
     launch_either<missing_barrier_kernel<true>, missing_barrier_kernel<false>>},
    {"ScratchReused", Finder::checker, "race on shared scratch\\+.*reduce.cuh:[0-9]+ <- planted_bugs.cu:",
     launch_either<scratch_reused_kernel<true>, scratch_reused_kernel<false>>},
    {"EarlyReturn", Finder::engine,
     "deadlock.*threads 0..99 wait at __syncthreads.*threads 100..127 have exited",
     launch_either<early_return_kernel<true>, early_return_kernel<false>>},
    {"SplitBarrier", Finder::engine, "divergent barrier: reached planted_bugs.cu:",
     launch_either<split_barrier_kernel<true>, split_barrier_kernel<false>>},
    {"WrongMask", Finder::engine, "mask 0xffff does not name the calling lane [123]",
     launch_either<wrong_mask_kernel<true>, wrong_mask_kernel<false>>},
    {"AbsentLane", Finder::engine, "reads lane 20, which does not take part",
     launch_either<absent_lane_kernel<true>, absent_lane_kernel<false>>},
    {"MixedCollectives", Finder::engine, "warp collective mismatch: lane [0-9]+ at planted_bugs.cu:",
     launch_either<mixed_collectives_kernel<true>, mixed_collectives_kernel<false>>},
    {"MissingSyncwarp", Finder::checker, "(race on|read of uninitialised) shared exchange\\+",
     launch_either<missing_syncwarp_kernel<true>, missing_syncwarp_kernel<false>, 1, kWarp>},
    {"GlobalOverrun", Finder::checker_or_asan,
     "invalid read of 4 bytes at planted_bugs.cu:[0-9]+: 0 bytes past the end",
     launch_either<global_overrun_kernel<true>, global_overrun_kernel<false>>},
    {"SharedOverrun", Finder::checker_or_asan,
     "invalid read of 4 bytes.*0 bytes past the end of tile .512 bytes",
     launch_either<shared_overrun_kernel<true>, shared_overrun_kernel<false>>},
    {"TableOverrun", Finder::ubsan, "index 32 out of bounds",
     launch_either<table_overrun_kernel<true>, table_overrun_kernel<false>>},
    {"UninitialisedShared", Finder::checker, "read of uninitialised shared sums\\+0",
     launch_either<uninitialised_shared_kernel<true>, uninitialised_shared_kernel<false>>},
    {"UninitialisedGlobal", Finder::checker, "read of uninitialised global cudaMalloc\\+",
     launch_either<uninitialised_global_kernel<true>, uninitialised_global_kernel<false>>},
    {"Misaligned", Finder::ubsan, "misaligned address",
     launch_either<misaligned_kernel<true>, misaligned_kernel<false>>},
    {"HostPointer", Finder::checker, "no device memory there: a host pointer", launch_host_pointer},
    {"UseAfterFree", Finder::checker_or_asan, "in cudaMalloc memory that was freed .4096 bytes",
     launch_use_after_free},
    {"RaceInBlock", Finder::checker, "(race on|read of uninitialised) global cudaMalloc\\+",
     launch_either<race_in_block_kernel<true>, race_in_block_kernel<false>>},
    {"RaceOfBlocks", Finder::checker,
     "race on global cudaMalloc\\+.*against write by thread [0-9]+ of block #0",
     launch_either<race_of_blocks_kernel<true>, race_of_blocks_kernel<false>, 2>},
    {"MissingFence", Finder::checker, "race on global cudaMalloc\\+.*against write by thread 0 of block #",
     launch_either<missing_fence_kernel<true>, missing_fence_kernel<false>, 4, kWarp>},
};

}  // namespace

std::span<const PlantedBug> planted_bugs() { return kBugs; }

}  // namespace simt_test
