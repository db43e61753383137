// SPDX-License-Identifier: Apache-2.0
#include "tare/core/device.h"

#include <ostream>

#include "tare/core/error.h"

namespace tare {

std::string Device::str() const {
  switch (type) {
    case DeviceType::cpu:
      return "cpu";
    case DeviceType::cuda:
      return "cuda:" + std::to_string(index);
    case DeviceType::meta:
      return "meta";
  }
  TARE_UNREACHABLE();
}

Device device_from_name(const std::string& name) {
  if (name == "cpu") return kCpu;
  if (name == "meta") return kMeta;
  if (name == "cuda") return {DeviceType::cuda, 0};
  const bool indexed = name.starts_with("cuda:") && name.size() > 5 && name.size() < 9;
  TARE_CHECK(indexed && name.find_first_not_of("0123456789", 5) == std::string::npos,  //
             "unknown device \"", name, "\": expected cpu, meta, cuda or cuda:N");
  return {DeviceType::cuda, std::stoi(name.substr(5))};
}

std::ostream& operator<<(std::ostream& os, Device device) { return os << device.str(); }

}  // namespace tare
