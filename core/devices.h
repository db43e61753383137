// SPDX-License-Identifier: Apache-2.0
// The devices that this process can use.
#pragma once

#include <string>
#include <vector>

#include "tare/core/device.h"

namespace tare {

std::vector<Device> available_devices();  // cpu, meta, then the CUDA devices
// Why there is no CUDA device ("this build of Tare has no CUDA", or the driver's words); empty when there is
// one.
const std::string& why_no_cuda();

}  // namespace tare
