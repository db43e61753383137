// SPDX-License-Identifier: Apache-2.0
// Kernels with one bug each, and the same kernels without it: the emulator must report the first, in every
// order and seed, and stay silent about the second.
#pragma once
#include <ostream>
#include <span>

namespace simt_test {

inline constexpr int kCount = 1024;  // floats in x and in y

// Who finds it: the engine (in every build), the memory checker, AddressSanitizer as well as the checker, or
// UBSan.
enum class Finder { engine, checker, checker_or_asan, ubsan };

struct PlantedBug {
  const char* name;
  Finder finder;
  const char* message;  // regular expression for the report
  // x: kCount floats on the device, all 1; y: kCount floats, not initialised; table: 8 zeroed words.
  void (*launch)(bool planted, const float* x, float* y, unsigned* table);
};

std::span<const PlantedBug> planted_bugs();

inline std::ostream& operator<<(std::ostream& out, const PlantedBug& bug) { return out << bug.name; }

}  // namespace simt_test
