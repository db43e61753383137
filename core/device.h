// SPDX-License-Identifier: Apache-2.0
// Devices. `meta` has shapes but no bytes: fronts check and account, twins are not called.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace tare {

enum class DeviceType : uint8_t { cpu, cuda, meta };

struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_cuda() const { return type == DeviceType::cuda; }
  bool is_meta() const { return type == DeviceType::meta; }
  bool operator==(const Device&) const = default;
  std::string str() const;  // "cpu", "cuda:0", "meta"
};

inline constexpr Device kCpu{DeviceType::cpu, 0};
inline constexpr Device kMeta{DeviceType::meta, 0};

// "cpu", "meta", "cuda", "cuda:1"; anything else is an Error.
Device device_from_name(const std::string& name);
std::ostream& operator<<(std::ostream& os, Device device);

}  // namespace tare
