// SPDX-License-Identifier: Apache-2.0
#include "tare/core/cuda/error.h"

#include <sstream>

#include "tare/core/error.h"

namespace tare::cuda {
namespace {

// "invalid argument (cudaErrorInvalidValue)"; the sticky last error is cleared, or a later call would report
// it.
std::string describe(cudaError_t error) {
  cudaGetLastError();
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

}  // namespace

void fail(cudaError_t error, const char* expr) { throw Error(std::string(expr) + ": " + describe(error)); }

void fail_launch(cudaError_t error, std::string_view kernel, dim3 grid, dim3 block, size_t smem) {
  std::ostringstream text;
  text << "launch of " << kernel << " with grid (" << grid.x << ", " << grid.y << ", " << grid.z
       << "), block (" << block.x << ", " << block.y << ", " << block.z << ") and " << smem
       << " bytes of shared memory: " << describe(error);
  throw Error(text.str());
}

}  // namespace tare::cuda
