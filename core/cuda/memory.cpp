// SPDX-License-Identifier: Apache-2.0
#include "tare/core/cuda/memory.h"

#include "tare/core/cuda/devices.h"
#include "tare/core/cuda/error.h"
#include "tare/core/cuda/stream.h"

namespace tare::cuda {
namespace {

class DevicePageSource final : public PageSource {
 public:
  explicit DevicePageSource(int device) : device_(device) { require_device(device); }

  void* map(int64_t bytes) override {
    TARE_CUDA(cudaSetDevice(device_));
    void* base = nullptr;
    const cudaError_t error = cudaMalloc(&base, size_t(bytes));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // the allocator tries again, and reports in its own words
      return nullptr;
    }
    TARE_CUDA(error);
    return base;
  }

  // cudaFree waits for the device, so that no kernel still uses the pages.
  void unmap(void* base, int64_t) override { TARE_CUDA(cudaFree(base)); }
  bool is_backed() const override { return false; }  // by nothing that the host may touch

 private:
  int device_;
};

}  // namespace

std::unique_ptr<PageSource> page_source(int device) { return std::make_unique<DevicePageSource>(device); }

void copy_bytes(const void* src, Device src_device, void* dst, Device dst_device, int64_t bytes) {
  const Device device = dst_device.is_cuda() ? dst_device : src_device;
  // Between two devices: what the source was written by must have been done.
  if (src_device.is_cuda() && dst_device.is_cuda() && src_device != dst_device) synchronize(src_device);
  const cudaStream_t stream = compute_stream(device);
  TARE_CUDA(cudaMemcpyAsync(dst, src, size_t(bytes), cudaMemcpyDefault, stream));
  if (!dst_device.is_cuda()) TARE_CUDA(cudaStreamSynchronize(stream));
}

}  // namespace tare::cuda
