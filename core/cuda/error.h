// SPDX-License-Identifier: Apache-2.0
// Errors of the CUDA runtime become tare::Error with the expression, CUDA's name for the error and its
// description.
#pragma once
#include <cstddef>
#include <string_view>

#include <cuda_runtime_api.h>
#include <vector_types.h>

// TARE_CUDA(cudaMemcpy(...)): throws tare::Error unless the call succeeds. An error that it reports is
// cleared.
#define TARE_CUDA(expr)                                                             \
  do {                                                                              \
    const cudaError_t tare_cuda_error = (expr);                                     \
    if (tare_cuda_error != cudaSuccess) ::tare::cuda::fail(tare_cuda_error, #expr); \
  } while (false)

namespace tare::cuda {

[[noreturn]] void fail(cudaError_t error, const char* expr);
[[noreturn]] void fail_launch(cudaError_t error, std::string_view kernel, dim3 grid, dim3 block, size_t smem);

}  // namespace tare::cuda
