// SPDX-License-Identifier: Apache-2.0
// Conversion of one element between any two dtypes, rounding once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tare/core/half.h"

namespace tare::detail {

// Rounding to odd: towards zero, with the last bit set when something was cut off. Rounded again to a type
// with at least two bits fewer, the result is that of one rounding (Boldo and Melquiond, "Emulation of FMA
// and correctly rounded sums: proved algorithms using rounding to odd", 2008). NaN stays NaN.
TARE_HD float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const uint32_t towards_zero = bits - uint32_t(std::fabs(back) > std::fabs(value));
  return std::bit_cast<float>(back == value ? bits : towards_zero | 1u);
}

TARE_HD float round_to_odd(int64_t value) {
  const uint64_t magnitude = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  // The upper 53 bits fit a double; the lower 11 become one bit that says whether there were any.
  const uint64_t upper = (magnitude & ~uint64_t(0x7ff)) | (uint64_t((magnitude & 0x7ff) != 0) << 11);
  const double exact = double(magnitude >> 53 ? upper : magnitude);
  return round_to_odd(value < 0 ? -exact : exact);
}

// To nearest even into half types and float, towards zero into integers (a value out of range is undefined,
// as in C++), != 0 into bool.
template <class D, class S> TARE_HD D convert(S value) {
  constexpr bool to_half = std::is_same_v<D, f16> || std::is_same_v<D, bf16>;
  if constexpr (std::is_same_v<S, D>) {
    return value;
  } else if constexpr (std::is_same_v<D, bool>) {
    return acc_t<S>(value) != 0;
  } else if constexpr (to_half && (std::is_same_v<S, double> || std::is_same_v<S, int64_t>)) {
    return D(round_to_odd(value));
  } else if constexpr (to_half && std::is_same_v<S, int32_t>) {
    return D(round_to_odd(double(value)));
  } else {
    return D(static_cast<acc_t<D>>(acc_t<S>(value)));
  }
}

}  // namespace tare::detail
