// SPDX-License-Identifier: Apache-2.0
// An array of its own cudaMalloc block, so that its end is the end of valid memory.
#pragma once
#include <vector>

#include "tare/core/cuda/error.h"

namespace simt_test {

template <class T> class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) {  // not initialised
    TARE_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    TARE_CUDA(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> copy(size_);
    TARE_CUDA(cudaMemcpy(copy.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
  }

 private:
  size_t size_;
  T* data_ = nullptr;
};

}  // namespace simt_test
