// SPDX-License-Identifier: Apache-2.0
// The dialect of Tare's CUDA kernels: what a kernel file uses beyond plain CUDA C++. nvcc sees the real
// thing; any other compiler sees the emulator of tests/simt, which runs the same kernels on the CPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "tare/core/cuda/error.h"
#ifndef __CUDACC__
#include "tests/simt/simt.h"
#endif

// SHARED(scratch, float[2][8]);        one block's static shared memory, not initialised; the type may hold
// commas DYNAMIC_SHARED(tile, float);         float* tile: the Launch::smem bytes, 128-byte aligned
#ifdef __CUDACC__
#define SHARED(name, ...) __shared__ std::type_identity_t<__VA_ARGS__> name
#define DYNAMIC_SHARED(name, ...)                                       \
  extern __shared__ __align__(128) unsigned char tare_dynamic_shared[]; \
  auto* const name = reinterpret_cast<__VA_ARGS__*>(tare_dynamic_shared)
#else
#define SHARED(name, ...) auto& name = simt::shared<__VA_ARGS__>(#name, [] {})
#define DYNAMIC_SHARED(name, ...) auto* const name = static_cast<__VA_ARGS__*>(simt::dynamic_shared())
#endif

namespace tare::kernels::cuda {

struct Launch {
  dim3 grid, block;
  size_t smem = 0;  // bytes of dynamic shared memory
  cudaStream_t stream = nullptr;
};

// A grid of any number of blocks: gridDim.x alone holds 2^31 - 1. Blocks whose index is too high have nothing
// to do.
inline dim3 linear_grid(int64_t blocks) {
  constexpr int64_t kMostInX = 0x7fffffff;
  if (blocks <= kMostInX) return dim3(unsigned(blocks));
  const int64_t y = (blocks + kMostInX - 1) / kMostInX;
  return dim3(unsigned((blocks + y - 1) / y), unsigned(y));
}
__device__ __forceinline__ int64_t block_index() { return blockIdx.x + int64_t(gridDim.x) * blockIdx.y; }

// "softmax_forward_kernel<float>", without namespaces: for errors, traces and profiles.
template <auto Kernel> constexpr std::string_view kernel_name() {
  std::string_view name =
      __PRETTY_FUNCTION__;  // "... [with auto Kernel = tare::...::softmax_forward_kernel<float>; ..."
  name.remove_prefix(name.find("Kernel = ") + 9);
  name = name.substr(0, name.find_first_of(";]"));
  const size_t scope = name.substr(0, name.find('<')).rfind("::");
  return scope == name.npos ? name : name.substr(scope + 2);
}

namespace detail {

constexpr size_t kSharedWithoutOptIn = 48 << 10;

template <auto Kernel, class... P>
cudaError_t launch(void (*)(P...), const Launch& l, std::type_identity_t<P>... args) {
#ifdef __CUDACC__
  if (l.smem > kSharedWithoutOptIn) {
    const auto error =
        cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(l.smem));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = l.grid, config.blockDim = l.block;
  config.dynamicSmemBytes = l.smem, config.stream = l.stream;
  return cudaLaunchKernelEx(&config, Kernel, args...);
#else
  return simt::launch({kernel_name<Kernel>(), l.grid, l.block, l.smem, l.stream}, [=] { Kernel(args...); });
#endif
}

}  // namespace detail

// launch<kernel<T>>({grid, block, smem, stream}, args...): the arguments convert to the kernel's parameter
// types. Throws tare::Error with the kernel's name and the dimensions when the launch is refused. Nothing may
// be empty: a launcher returns early for tensors without elements. Kernels are not overloaded.
template <auto Kernel, class... A> void launch(const Launch& l, A... args) {
  const cudaError_t error = detail::launch<Kernel>(Kernel, l, args...);
  if (error != cudaSuccess) tare::cuda::fail_launch(error, kernel_name<Kernel>(), l.grid, l.block, l.smem);
}

}  // namespace tare::kernels::cuda
