// SPDX-License-Identifier: Apache-2.0
#include "tare/core/cuda/devices.h"

#include <cuda_runtime_api.h>

#include "tare/core/error.h"

namespace tare::cuda {
namespace {

Devices ask_driver() {
  Devices found;
  const cudaError_t error = cudaGetDeviceCount(&found.count);
  if (error == cudaSuccess) {
    if (found.count == 0) found.why_none = "the driver reports no device";
    return found;
  }
  cudaGetLastError();  // or the next launch would report it
  return {0, std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")"};
}

}  // namespace

const Devices& devices() {
  static const Devices found = ask_driver();
  return found;
}

void require_device(int device) {
  const Devices& found = devices();
  TARE_CHECK(found.count > 0, "cuda:", device, ": no CUDA device can be used: ", found.why_none);
  TARE_CHECK(device >= 0 && device < found.count, "cuda:", device, ": this machine has ", found.count,
             " CUDA device(s)");
}

}  // namespace tare::cuda
