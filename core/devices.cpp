// SPDX-License-Identifier: Apache-2.0
#include "tare/core/devices.h"

#include "tare/core/cuda/devices.h"

namespace tare {

std::vector<Device> available_devices() {
  std::vector<Device> list = {kCpu, kMeta};
  for (int i = 0; i < cuda::devices().count; ++i) list.push_back({DeviceType::cuda, i});
  return list;
}

const std::string& why_no_cuda() { return cuda::devices().why_none; }

}  // namespace tare
