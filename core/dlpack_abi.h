// SPDX-License-Identifier: Apache-2.0
// The structures of DLPack's binary interface, for programs without its header. It stands aside where the
// official <dlpack/dlpack.h> was included before; that one must not come after it. Names are DLPack's.
#pragma once

#include <cstdint>

#ifndef DLPACK_DLPACK_H_
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // elements; null for row-major
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
#endif

// Values of device_type and code, under names that DLPack's header does not use.
inline constexpr int32_t kDlpackCpu = 1, kDlpackCuda = 2, kDlpackCudaHost = 3;
inline constexpr uint8_t kDlpackInt = 0, kDlpackUInt = 1, kDlpackFloat = 2, kDlpackBfloat = 4,
                         kDlpackBool = 6;
