// SPDX-License-Identifier: Apache-2.0
// The twins of memory.cpp and devices.cpp for a build without CUDA.
#include "tare/core/cuda/devices.h"
#include "tare/core/cuda/memory.h"
#include "tare/core/error.h"

namespace tare::cuda {

const Devices& devices() {
  static const Devices none{0, "this build of Tare has no CUDA"};
  return none;
}

void require_device(int device) { TARE_THROW("cuda:", device, ": ", devices().why_none); }

std::unique_ptr<PageSource> page_source(int device) {
  TARE_THROW("cuda:", device, ": this build of Tare has no CUDA");
}

void copy_bytes(const void*, Device src_device, void*, Device dst_device, int64_t) {
  TARE_THROW("copy from ", src_device, " to ", dst_device, ": this build of Tare has no CUDA");
}

}  // namespace tare::cuda
