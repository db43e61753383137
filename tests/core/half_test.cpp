// SPDX-License-Identifier: Apache-2.0
// f16 and bf16: every code's value, and rounding on both sides of every boundary between two codes, against
// definitions in long double.
#include "tare/core/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/convert.h"

namespace tare {
namespace {

// IEEE 754-2008: `exponent_bits` and `fraction_bits` beside the sign.
template <class H> struct Format;
template <> struct Format<f16> { static constexpr int exponent_bits = 5, fraction_bits = 10; };
template <> struct Format<bf16> { static constexpr int exponent_bits = 8, fraction_bits = 7; };

template <class H> H from_bits(uint32_t bits) {
  H h;
  h.bits = uint16_t(bits);
  return h;
}

// The value of a code by the standard's definition; infinities as the next power of two, NaN as NaN.
template <class H> long double value_of(uint32_t code) {
  constexpr int kExponent = Format<H>::exponent_bits, kFraction = Format<H>::fraction_bits;
  constexpr int kBias = (1 << (kExponent - 1)) - 1;
  const int exponent = int(code >> kFraction) & ((1 << kExponent) - 1);
  const long double fraction = code & ((1u << kFraction) - 1);
  const long double sign = code & 0x8000u ? -1 : 1;
  if (exponent == (1 << kExponent) - 1 && fraction != 0) return std::numeric_limits<long double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - kBias - kFraction);
  return sign * std::ldexp(fraction + (1 << kFraction), exponent - kBias - kFraction);
}

template <class H> constexpr uint32_t infinity_code() {
  return ((1u << Format<H>::exponent_bits) - 1) << Format<H>::fraction_bits;
}

// The code nearest to a finite x, ties to the even code; beyond the last value as if the exponents went on.
template <class H> uint32_t nearest_code(long double x) {
  const uint32_t sign = std::signbit(x) ? 0x8000u : 0;
  x = std::fabs(x);
  uint32_t low = 0, high = infinity_code<H>();
  if (x >= value_of<H>(high)) return sign | high;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (value_of<H>(middle) <= x ? low : high) = middle;
  }
  const long double below = x - value_of<H>(low), above = value_of<H>(high) - x;
  if (below == above) return sign | (low % 2 ? high : low);
  return sign | (below < above ? low : high);
}

template <class H> class Half : public testing::Test {};
using Halves = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Half, Halves);

TYPED_TEST(Half, EveryCodeHasItsValueAndComesBackFromIt) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float f = float(from_bits<TypeParam>(code));
    const uint32_t magnitude = code & 0x7fff;
    if (magnitude > infinity_code<TypeParam>()) {
      ASSERT_TRUE(std::isnan(f)) << code;
      const uint32_t back = TypeParam(f).bits & 0x7fffu;
      ASSERT_GT(back, infinity_code<TypeParam>()) << code << " is a number after the round trip";
    } else {
      if (magnitude == infinity_code<TypeParam>()) {
        ASSERT_TRUE(std::isinf(f)) << code;
      } else {
        ASSERT_EQ((long double)f, value_of<TypeParam>(code)) << code;
      }
      ASSERT_EQ(std::signbit(f), code >= 0x8000) << code;
      ASSERT_EQ(TypeParam(f).bits, code);
    }
  }
}

TYPED_TEST(Half, RoundingIsToNearestEvenAtEveryBoundary) {
  for (uint32_t code = 0; code < infinity_code<TypeParam>(); ++code) {
    const long double a = value_of<TypeParam>(code), b = value_of<TypeParam>(code + 1);
    const float middle = float((a + b) / 2);
    // Where floats are too coarse to hold the middle (bf16's lowest codes are not), the test would prove
    // nothing.
    ASSERT_EQ((long double)middle, (a + b) / 2);
    const uint32_t even = code % 2 ? code + 1 : code;
    for (const float sign : {1.f, -1.f}) {
      const uint32_t s = sign < 0 ? 0x8000u : 0;
      ASSERT_EQ(TypeParam(sign * middle).bits, s | even) << code;
      ASSERT_EQ(TypeParam(sign * std::nextafter(middle, 0.f)).bits, s | code) << code;
      ASSERT_EQ(TypeParam(sign * std::nextafter(middle, INFINITY)).bits, s | (code + 1)) << code;
    }
  }
}

TYPED_TEST(Half, DoublesAreRoundedOnceAtEveryBoundary) {
  for (uint32_t code = 0; code < infinity_code<TypeParam>(); ++code) {
    const double middle = double((value_of<TypeParam>(code) + value_of<TypeParam>(code + 1)) / 2);
    const uint32_t even = code % 2 ? code + 1 : code;
    for (const double sign : {1., -1.}) {
      const uint32_t s = sign < 0 ? 0x8000u : 0;
      ASSERT_EQ(detail::convert<TypeParam>(sign * middle).bits, s | even) << code;
      ASSERT_EQ(detail::convert<TypeParam>(sign * std::nextafter(middle, 0.)).bits, s | code) << code;
      ASSERT_EQ(detail::convert<TypeParam>(sign * std::nextafter(middle, HUGE_VAL)).bits, s | (code + 1))
          << code;
    }
  }
}

TYPED_TEST(Half, DoublesOfEveryKindConvert) {
  for (const double x : {0., -0., 1e-320, -5e-324, 1e-60, 3.4e38, 3.5e38, -1e300, 1.7e308})
    EXPECT_EQ(detail::convert<TypeParam>(x).bits, nearest_code<TypeParam>(x)) << x;
  EXPECT_EQ(detail::convert<TypeParam>(HUGE_VAL).bits, infinity_code<TypeParam>());
  EXPECT_EQ(detail::convert<TypeParam>(-HUGE_VAL).bits, 0x8000u | infinity_code<TypeParam>());
  EXPECT_TRUE(std::isnan(float(detail::convert<TypeParam>(std::nan("")))));
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(double(int64_t(random())), int(random() % 400) - 260);
    ASSERT_EQ(detail::convert<TypeParam>(x).bits, nearest_code<TypeParam>(x)) << x;
  }
}

TYPED_TEST(Half, IntegersAreRoundedOnce) {
  std::vector<int64_t> values = {0,
                                 1,
                                 -1,
                                 65503,
                                 65504,
                                 65519,
                                 65520,
                                 INT64_MAX,
                                 INT64_MIN,
                                 INT64_MIN + 1,
                                 (int64_t(1) << 40) + (int64_t(1) << 32),
                                 (int64_t(1) << 40) + (int64_t(1) << 32) + 1};
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    // Boundaries of bf16, 8 bits below the leading one, and a little beside.
    const int shift = int(random() % 63);
    const int64_t base = int64_t((random() % 512 + 1) << shift >> 1 & INT64_MAX);
    values.push_back((random() % 2 ? 1 : -1) * (base + int64_t(random() % 3) - 1));
  }
  for (const int64_t value : values) {
    ASSERT_EQ(detail::convert<TypeParam>(value).bits, nearest_code<TypeParam>(value)) << value;
    const int32_t narrow = int32_t(value);
    ASSERT_EQ(detail::convert<TypeParam>(narrow).bits, nearest_code<TypeParam>(narrow)) << narrow;
  }
}

}  // namespace
}  // namespace tare
