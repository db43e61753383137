// SPDX-License-Identifier: Apache-2.0
#include "tare/core/isa.h"

#include <atomic>
#include <cstdlib>
#include <string>

#include "tare/core/error.h"

namespace tare {
namespace {

Isa isa_from_environment() {
  const char* text = std::getenv("TARE_ISA");
  return text && *text ? isa_from_name(text) : best_isa();
}

std::atomic<Isa>& selected() {
  static std::atomic<Isa> isa{isa_from_environment()};
  return isa;
}

}  // namespace

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::base:
      return "base";
    case Isa::v3:
      return "v3";
    case Isa::v4:
      return "v4";
  }
  TARE_UNREACHABLE();
}

Isa best_isa() {
#if defined(__x86_64__)
  // Single features, since clang 14 does not know the level names here.
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? Isa::v4 : v3 ? Isa::v3 : Isa::base;
#else
  return Isa::base;
#endif
}

Isa isa_from_name(std::string_view name) {
  for (const Isa isa : {Isa::base, Isa::v3, Isa::v4}) {
    if (name_of(isa) != name) continue;
    TARE_CHECK(isa <= best_isa(), "instruction set ", name, " (TARE_ISA): this processor runs at most ",
               name_of(best_isa()));
    return isa;
  }
  TARE_THROW("instruction set ", in_quotes(name), " (TARE_ISA): expected base, v3 or v4");
}

Isa active_isa() { return selected().load(std::memory_order_relaxed); }

void set_active_isa(Isa isa) {
  TARE_CHECK(isa <= best_isa(), "instruction set ", name_of(isa), ": this processor runs at most ",
             name_of(best_isa()));
  selected().store(isa, std::memory_order_relaxed);
}

}  // namespace tare
