// SPDX-License-Identifier: Apache-2.0
// The tolerances of all tests, in one place. A test that needs a looser one says why:
// tolerance(DType::f32).looser(8, "sums 4096 products in one chain").
#pragma once

#include <limits>

#include "tare/core/dtype.h"

namespace tare::test {

// Distance from 1 to the next number. 0 for dtypes that hold integers, where results must be equal.
inline double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-52;
    case DType::f32:
      return 0x1p-23;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::i64:
    case DType::i32:
    case DType::u8:
    case DType::boolean:
      return 0;
  }
  TARE_UNREACHABLE();
}

inline double min_normal_of(DType dtype) {
  if (dtype == DType::f64) return std::numeric_limits<double>::min();
  return dtype == DType::f16 ? 0x1p-14 : std::numeric_limits<float>::min();
}

inline double max_finite_of(DType dtype) {
  if (dtype == DType::f64) return std::numeric_limits<double>::max();
  if (dtype == DType::f16) return 65504;
  return dtype == DType::bf16 ? 0x1.fep127 : std::numeric_limits<float>::max();
}

// Both bounds must hold. One unit at an element is eps(dtype) * max(|want|, rms of all that is wanted).
struct Tolerance {
  double max_units;  // largest error of an element, in units
  double rms_units;  // sqrt(NMSE) / eps: root mean square error over root mean square wanted
  const char* reason = "";

  Tolerance looser(double factor, const char* why) const {
    return {max_units * factor, rms_units * factor, why};
  }
};

// Half types compute in float and round once (twice where they accumulate): 0.5 units each. f32 and f64 carry
// the rounding of every operation on the way; references compute in f64 and are themselves off by as much
// there.
inline Tolerance tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {64, 16};
    case DType::f32:
      return {32, 8};
    case DType::f16:
    case DType::bf16:
      return {1.5, 0.75};
    case DType::i64:
    case DType::i32:
    case DType::u8:
    case DType::boolean:
      return {0, 0};
  }
  TARE_UNREACHABLE();
}

// The relative change that a test must notice in a whole output: 1 %, and 4 % in half types.
inline double noticed_scaling(DType dtype) { return is_half(dtype) ? 0.04 : 0.01; }

}  // namespace tare::test
