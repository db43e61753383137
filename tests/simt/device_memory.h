// SPDX-License-Identifier: Apache-2.0
// SIMT emulator: device memory, the streams that work is queued on, and the runtime's last error.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>

#include <cuda_runtime.h>

namespace simt {

inline constexpr int kPoison = 0xFF;  // NaN in every float format, -1 in every integer

// ---- device_memory.cpp: one range of addresses that the host cannot touch, save through the runtime
// ---------------
struct Allocation {
  char* begin = nullptr;
  size_t bytes = 0;
  unsigned number = 0;  // counts cudaMalloc calls
  bool freed = false;
};
cudaError_t allocate(void** p, size_t bytes);
cudaError_t release(void* p);
size_t bytes_in_use();
// The allocation, live or freed, that p points into or just behind; none for host memory. Addresses are never
// reused.
std::optional<Allocation> find_allocation(const void* p);
bool is_device_address(const void* p);

// While one lives, device memory is accessible: kernels and copies hold it. Otherwise an access is a fault at
// once.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// ---- streams.cpp
// --------------------------------------------------------------------------------------------------- Queues
// work on a stream. In random order it runs some time later, streams interleaved, so that a missing wait
// gives wrong numbers; in the other orders it runs at once. Work for the null stream runs after all blocking
// streams.
void submit(cudaStream_t stream, std::function<void()> work);
void drain(cudaStream_t stream);  // runs until the stream is empty; null: every stream
void drain_blocking_streams();
void drain_before_free();  // every stream; a fault waits for the next call, since destructors free

// ---- cudart.cpp
// ----------------------------------------------------------------------------------------------------
cudaError_t remember(cudaError_t e);  // for cudaGetLastError; returns e

}  // namespace simt
