// SPDX-License-Identifier: Apache-2.0
// CUDA device memory as core sees it. A build without CUDA links the twins of memory_none.cpp, which throw.
#pragma once

#include <cstdint>
#include <memory>

#include "tare/core/device.h"
#include "tare/core/page_source.h"

namespace tare::cuda {

std::unique_ptr<PageSource> page_source(int device);
// Copies between host and device or between devices, in order with the device's compute stream; returns when
// the target may be read by the host.
void copy_bytes(const void* src, Device src_device, void* dst, Device dst_device, int64_t bytes);

}  // namespace tare::cuda
