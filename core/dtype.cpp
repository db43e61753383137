// SPDX-License-Identifier: Apache-2.0
#include "tare/core/dtype.h"

#include <array>
#include <ostream>

namespace tare {
namespace {

struct DTypeInfo {
  std::string_view name;
  int64_t size;
  bool floating;
};

constexpr std::array<DTypeInfo, 8> kInfo = {{
    {"f64", 8, true},
    {"f32", 4, true},
    {"f16", 2, true},
    {"bf16", 2, true},
    {"i64", 8, false},
    {"i32", 4, false},
    {"u8", 1, false},
    {"bool", 1, false},
}};

const DTypeInfo& info(DType dtype) { return kInfo[size_t(dtype)]; }

}  // namespace

int64_t size_of(DType dtype) { return info(dtype).size; }
std::string_view name_of(DType dtype) { return info(dtype).name; }
bool is_floating(DType dtype) { return info(dtype).floating; }
bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

DType promote(DType a, DType b) {
  if (a == b) return a;
  TARE_CHECK(a != DType::boolean && b != DType::boolean, "promote: ", a, " with ", b);
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (is_half(a) && is_half(b)) return DType::f32;
  return size_of(a) > size_of(b) ? a : b;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name) return DType(i);
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& os, DType dtype) { return os << name_of(dtype); }

}  // namespace tare
