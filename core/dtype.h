// SPDX-License-Identifier: Apache-2.0
// Element types, and visitors that turn a run-time DType into a template argument.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "tare/core/error.h"
#include "tare/core/half.h"

namespace tare {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };

int64_t size_of(DType dtype);           // bytes per element
std::string_view name_of(DType dtype);  // "f32", ..., "bool"
std::optional<DType> dtype_from_name(std::string_view name);
bool is_floating(DType dtype);
bool is_half(DType dtype);
// The dtype of a result of two operands: the wider of two floating ones, f32 for f16 with bf16, the floating
// one of a floating and an integer, the wider of two integers. bool goes with bool only, else an Error.
DType promote(DType a, DType b);
std::ostream& operator<<(std::ostream& os, DType dtype);

template <class T> struct DTypeOf;
#define TARE_DTYPE_OF(T, name) \
  template <> struct DTypeOf<T> { static constexpr DType value = DType::name; }
TARE_DTYPE_OF(double, f64);
TARE_DTYPE_OF(float, f32);
TARE_DTYPE_OF(f16, f16);
TARE_DTYPE_OF(bf16, bf16);
TARE_DTYPE_OF(int64_t, i64);
TARE_DTYPE_OF(int32_t, i32);
TARE_DTYPE_OF(uint8_t, u8);
TARE_DTYPE_OF(bool, boolean);
#undef TARE_DTYPE_OF
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;

// f.template operator()<T>() for the element type; `op` names the caller in the error.
template <class F> decltype(auto) visit_floating(DType dtype, const char* op, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<f16>();
    case DType::bf16:
      return f.template operator()<bf16>();
    case DType::i64:
    case DType::i32:
    case DType::u8:
    case DType::boolean:
      break;
  }
  TARE_THROW(op, ": needs a floating dtype, got ", name_of(dtype));
}

template <class F> decltype(auto) visit_index(DType dtype, const char* op, F&& f) {
  switch (dtype) {
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::f64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::boolean:
      break;
  }
  TARE_THROW(op, ": needs an integer dtype, got ", name_of(dtype));
}

template <class F> decltype(auto) visit_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<f16>();
    case DType::bf16:
      return f.template operator()<bf16>();
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
  }
  TARE_UNREACHABLE();
}

}  // namespace tare
