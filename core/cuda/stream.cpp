// SPDX-License-Identifier: Apache-2.0
#include "tare/core/cuda/stream.h"

#include <mutex>
#include <vector>

#include "tare/core/cuda/devices.h"
#include "tare/core/cuda/error.h"

namespace tare::cuda {

cudaStream_t compute_stream(Device device) {
  require_device(device.index);
  TARE_CUDA(cudaSetDevice(device.index));
  static std::mutex mutex;
  // Never destroyed: tensors of static lifetime may still use them after main.
  static auto* const streams = new std::vector<cudaStream_t>(size_t(devices().count), nullptr);
  std::lock_guard lock(mutex);
  cudaStream_t& stream = (*streams)[size_t(device.index)];
  if (!stream) TARE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void synchronize(Device device) { TARE_CUDA(cudaStreamSynchronize(compute_stream(device))); }

}  // namespace tare::cuda
