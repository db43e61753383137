// SPDX-License-Identifier: Apache-2.0
// FNV-1a of 64 bits: a hash that is the same on every machine and run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tare {

inline constexpr uint64_t kFnvBasis = 0xcbf29ce484222325ull;

// The hash of what `hash` is the hash of, with `bytes` appended; it starts from kFnvBasis.
constexpr uint64_t fnv1a(uint64_t hash, std::span<const uint8_t> bytes) {
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
  return hash;
}
constexpr uint64_t fnv1a(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace tare
