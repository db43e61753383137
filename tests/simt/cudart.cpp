// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime of the emulator, as much of it as the library calls: one device, its memory and copies.
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simt/check.h"
#include "tests/simt/device_memory.h"
#include "tests/simt/engine.h"

namespace simt {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
std::map<const char*, size_t> pinned;  // cudaMallocHost blocks: begin and size

// One call of the runtime: serial, and never from inside a kernel.
struct Call {
  Call() {
    if (running) fail("call of the CUDA runtime inside a kernel");
    Machine::lock().lock();
  }
  ~Call() { Machine::lock().unlock(); }
};

// [p, p + n) lies in one live allocation.
bool is_valid_device_range(const void* p, size_t n) {
  const auto a = find_allocation(p);
  return a && !a->freed && static_cast<const char*>(p) + n <= a->begin + a->bytes;
}

bool fits(const void* p, size_t n, bool on_device) {
  return on_device ? is_valid_device_range(p, n) : !is_device_address(p);
}

bool copy_is_valid(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return fits(to, n, false) && fits(from, n, false);
    case cudaMemcpyHostToDevice:
      return fits(to, n, true) && fits(from, n, false);
    case cudaMemcpyDeviceToHost:
      return fits(to, n, false) && fits(from, n, true);
    case cudaMemcpyDeviceToDevice:
      return fits(to, n, true) && fits(from, n, true);
    case cudaMemcpyDefault:
      return fits(to, n, is_device_address(to)) && fits(from, n, is_device_address(from));
  }
  return false;
}

void copy_now(void* to, const void* from, size_t n) {
  DeviceAccess access;
  std::memmove(to, from, n);
  if (is_device_address(to)) check::copied(to, is_device_address(from) ? from : nullptr, n);
}

void set_now(void* p, int value, size_t n) {
  DeviceAccess access;
  std::memset(p, value, n);
  check::copied(p, nullptr, n);
}

bool is_pinned(const void* p) {
  const auto it = pinned.upper_bound(static_cast<const char*>(p));
  return it != pinned.begin() && p < std::prev(it)->first + std::prev(it)->second;
}

}  // namespace

cudaError_t remember(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}

}  // namespace simt

using namespace simt;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : remember(cudaErrorInvalidDevice); }

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    default:
      return "an error that the emulator never returns";
  }
}

const char* cudaGetErrorString(cudaError_t e) { return cudaGetErrorName(e); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Call call;
  *total = options().device_bytes, *free = *total - bytes_in_use();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** p, size_t bytes) {
  Call call;
  return remember(allocate(p, bytes));
}

// Waits for the device, as the real one does: work that still uses the block is not disturbed.
cudaError_t cudaFree(void* p) {
  Call call;
  drain_before_free();
  return remember(release(p));
}

cudaError_t cudaMallocHost(void** p, size_t bytes) {
  Call call;
  *p = std::malloc(bytes);
  if (!*p) return remember(cudaErrorMemoryAllocation);
  pinned[static_cast<char*>(*p)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* p) {
  Call call;
  drain_before_free();
  if (p && !pinned.erase(static_cast<char*>(p))) return remember(cudaErrorInvalidValue);
  std::free(p);
  return cudaSuccess;
}

// Pageable host memory is staged: the source is read, and the destination written, before the call returns.
// Pinned memory is read and written when the stream gets there.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  Call call;
  if (n == 0) return cudaSuccess;
  if (!copy_is_valid(to, from, n, kind)) return remember(cudaErrorInvalidValue);
  const bool from_pageable = !is_device_address(from) && !is_pinned(from);
  if (from_pageable) {
    const auto* bytes = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(bytes, bytes + n);
    submit(stream, [=] { copy_now(to, staged->data(), n); });
  } else {
    submit(stream, [=] { copy_now(to, from, n); });
  }
  if (stream && !is_device_address(to) && !is_pinned(to)) drain(stream);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, n, kind, nullptr);
}

cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t stream) {
  Call call;
  if (n == 0) return cudaSuccess;
  if (!is_valid_device_range(p, n)) return remember(cudaErrorInvalidValue);
  submit(stream, [=] { set_now(p, value, n); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* p, int value, size_t n) { return cudaMemsetAsync(p, value, n, nullptr); }

}  // extern "C"
