// SPDX-License-Identifier: Apache-2.0
// Streams. Each device has one compute stream, on which kernels, copies and the allocator's blocks follow
// each other in program order; it does not wait for the default stream.
#pragma once

#include <cuda_runtime_api.h>

#include "tare/core/device.h"

namespace tare::cuda {

// The compute stream of a CUDA device, made at first use. Makes the device current for the calling thread, as
// a launch on the stream needs. Error when there is no such device.
cudaStream_t compute_stream(Device device);

// Waits until the device has done all that was asked on its compute stream. Not for use inside a training
// step.
void synchronize(Device device);

}  // namespace tare::cuda
