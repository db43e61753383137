// SPDX-License-Identifier: Apache-2.0
// Scalar formulas, each standing once for host and device. Branch-free, so that loops over them vectorise.
//
// Functions of float are our own (polynomials fitted for least relative error), those of double are the
// standard library's. The functors below are templates: they also run on a complex type of the tests, whose
// functions are found by argument-dependent lookup, and which makes each backward checkable to all digits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tare/core/half.h"

namespace tare::math {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

// e^(hi + lo) for |lo| < 0.05: reduction by multiples of ln 2 (in two parts, the first exact), a polynomial
// of degree 6, and the power of two added to the exponent field. At most 1.1 ulp at lo = 0. A result below
// the normal range is 0 (denormals cost more than they tell), NaN stays NaN.
TARE_HD float exp_of_sum(float hi, float lo) {
  const float shifted = hi * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the low bits hold the nearest integer
  const float k = shifted - 12582912.0f;
  const float r = (hi - k * 0.693359375f) + (k * 2.12194440e-4f + lo);
  float p = 1.38382066e-3f;
  p = p * r + 8.36929586e-3f;
  p = p * r + 4.16680872e-2f;
  p = p * r + 1.66665152e-1f;
  p = p * r + 4.99999940e-1f;
  const float e = (p * r) * r + r + 1.0f;
  const uint32_t bits = std::bit_cast<uint32_t>(e) + (std::bit_cast<uint32_t>(shifted) << 23);
  const float y = hi < -87.3365402f ? 0.0f : std::bit_cast<float>(bits);
  return hi <= 88.7228317f ? y : hi + kInf;  // inf, and NaN for NaN
}

TARE_HD float exp(float x) { return exp_of_sum(x, 0.0f); }
TARE_HD double exp(double x) { return std::exp(x); }

// Natural logarithm: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), log(1 + f) = f - f^2/2 + f^3 P(f).
// At most 1 ulp, denormals included; -inf at 0, NaN below.
TARE_HD float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const uint32_t bits = std::bit_cast<uint32_t>(tiny ? x * 8388608.0f : x) + (0x3f800000u - 0x3f3504f3u);
  const float k = float(int32_t(bits >> 23) - 127 - (tiny ? 23 : 0));
  const float f = std::bit_cast<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float p = -7.62790740e-2f;
  p = p * f + 1.27684057e-1f;
  p = p * f - 1.31628171e-1f;
  p = p * f + 1.42008498e-1f;
  p = p * f - 1.66232243e-1f;
  p = p * f + 2.00012609e-1f;
  p = p * f - 2.50008225e-1f;
  p = p * f + 3.33333313e-1f;
  const float f2 = f * f;
  const float tail = (p * f) * f2 - k * 2.12194440e-4f - 0.5f * f2;
  const float y = k * 0.693359375f + (f + tail);
  const float defined = x < kInf ? y : x;  // inf and NaN stay
  const float positive = x == 0.0f ? -kInf : defined;
  return x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : positive;
}
TARE_HD double log(double x) { return std::log(x); }

TARE_HD float sqrt(float x) { return std::sqrt(x); }
TARE_HD double sqrt(double x) { return std::sqrt(x); }
TARE_HD float abs(float x) { return std::fabs(x); }
TARE_HD double abs(double x) { return std::fabs(x); }

// x + x^3 P(x^2) below 0.625, 1 - 2 / (e^2|x| + 1) above. At most 2 ulp.
TARE_HD float tanh(float x) {
  const float a = std::fabs(x), s = x * x;
  float p = -5.74325351e-3f;
  p = p * s + 2.06783414e-2f;
  p = p * s - 5.37539572e-2f;
  p = p * s + 1.33316547e-1f;
  p = p * s - 3.33332933e-1f;
  const float small = x + x * (s * p);
  const float large = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
  return a < 0.625f ? small : std::copysign(large, x);
}
TARE_HD double tanh(double x) { return std::tanh(x); }

// e^(-x^2/2) to full relative accuracy: x^2 = h^2 + (x - h)(x + h) with h^2 exact in float.
TARE_HD float gaussian(float x) {
  const float h = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xfffff000u);
  const float x_in_range = std::fabs(x) < 14.0f ? x : h;
  return exp_of_sum(-0.5f * h * h, -0.5f * (x_in_range - h) * (x_in_range + h));
}
TARE_HD double gaussian(double x) { return std::exp(-0.5 * x * x); }

// P(X > a), X ~ N(0, 1), a >= 0, as gaussian(a) * t P(t), t = 1 / (1 + 0.35 a). At most 6 ulp; 0 beyond 13.2.
TARE_HD float normal_upper_tail(float a) {
  const float t = 1.0f / (1.0f + 0.35f * a);
  float p = -2.91194879e-2f;
  p = p * t + 1.43841356e-1f;
  p = p * t - 2.55440861e-1f;
  p = p * t + 1.58856392e-1f;
  p = p * t - 2.28866898e-2f;
  p = p * t + 1.05411388e-1f;
  p = p * t + 1.19857967e-1f;
  p = p * t + 1.39858305e-1f;
  p = p * t + 1.39621615e-1f;
  return gaussian(a) * (t * p);
}

// Phi(x) = P(X <= x), X ~ N(0, 1), without cancellation in the left tail.
TARE_HD float normal_cdf(float x) {
  const float tail = normal_upper_tail(std::fabs(x));
  return x < 0.0f ? tail : 1.0f - tail;
}
TARE_HD double normal_cdf(double x) { return 0.5 * std::erfc(-0.70710678118654752440 * x); }

// x + x P(x^2) below 0.9, 1 - 2 Q(sqrt(2) |x|) above. At most 2 ulp.
TARE_HD float erf(float x) {
  const float a = std::fabs(x), s = x * x;
  float p = 7.90666745e-5f;
  p = p * s - 8.03224568e-4f;
  p = p * s + 5.19121112e-3f;
  p = p * s - 2.68554017e-2f;
  p = p * s + 1.12836234e-1f;
  p = p * s - 3.76126289e-1f;
  p = p * s + 1.28379166e-1f;
  const float small = x + x * p;
  const float large = 1.0f - 2.0f * normal_upper_tail(1.41421356f * a);
  return a < 0.9f ? small : std::copysign(large, x);
}
TARE_HD double erf(double x) { return std::erf(x); }

namespace detail {

// For |x| < 2^51.
TARE_HD double nearest_integer(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

// log2 of a positive finite float, in double to 1e-13.
TARE_HD double log2_in_double(float x) {
  const uint64_t offset = 0x3ff0000000000000u - 0x3fe6a09e00000000u;
  const uint64_t bits = std::bit_cast<uint64_t>(double(x));
  const uint64_t exponent = (bits + offset) >> 52;  // biased; the mantissa is in [sqrt(1/2), sqrt(2))
  const double k = std::bit_cast<double>(exponent | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  const double m = std::bit_cast<double>(bits - (exponent << 52) + 0x3ff0000000000000u);
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0.2829175698543114;
  p = p * z + 0.3199044197468979;
  p = p * z + 0.4122092857715264;
  p = p * z + 0.5770779419982078;
  p = p * z + 0.9617966941148173;
  p = p * z + 2.885390081777844;
  return s * p + k;
}

// 2^x to 4e-11, for |x| <= 1000 or NaN.
TARE_HD double exp2_in_double(double x) {
  const double shifted = x + 6755399441055744.0;  // 1.5 * 2^52: the low bits hold the nearest integer
  const double f = x - (shifted - 6755399441055744.0);
  double p = 1.5201918073090773e-05;
  p = p * f + 1.5469291114958593e-04;
  p = p * f + 1.33339225788044e-03;
  p = p * f + 9.618027253762651e-03;
  p = p * f + 5.550410353428316e-02;
  p = p * f + 0.2402265119815685;
  p = p * f + 0.6931471807284537;
  p = p * f + 0.9999999999616822;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(p) + (std::bit_cast<uint64_t>(shifted) << 52));
}

}  // namespace detail

// x^y with the special values of C's powf. Through base 2 in double: at most 0.51 ulp.
TARE_HD float pow(float x, float y) {
  const float a = std::fabs(x);
  const double inf = std::numeric_limits<double>::infinity();
  const double finite = a < kInf ? detail::log2_in_double(a) : inf;
  const double exponent = double(y) * (a == 0.0f ? -inf : finite);
  const double low = exponent < -1000.0 ? -1000.0 : exponent;
  const float magnitude = float(detail::exp2_in_double(low > 1000.0 ? 1000.0 : low));
  // Whether y is an integer and odd; above 2^24 every float is an even integer. Conditions are combined by &
  // and
  // |, which do not branch.
  const bool large = std::fabs(y) >= 16777216.0f;
  const bool integral = large | (detail::nearest_integer(double(y)) == double(y));
  const bool odd = integral & !large & (detail::nearest_integer(0.5 * double(y)) != 0.5 * double(y));
  const bool undefined = (x < 0.0f) & !integral & (a < kInf);
  const float sign = (odd & (std::copysign(1.0f, x) < 0.0f)) ? -1.0f : 1.0f;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float power = (undefined | (x != x) | (y != y)) ? nan : sign * magnitude;
  const bool one = (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (std::fabs(y) == kInf));
  return one ? 1.0f : power;
}
TARE_HD double pow(double x, double y) { return std::pow(x, y); }

// 1 / (1 + e^-x)
template <class T> TARE_HD T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }

// sigmoid(x) and its derivative s (1 - s), both without cancellation: e = e^-|x|.
template <class T> struct SigmoidWithSlope { T value, slope; };
template <class T> TARE_HD SigmoidWithSlope<T> sigmoid_with_slope(T x) {
  const T e = exp(-abs(x));
  const T r = T(1) / (T(1) + e);
  return {x < T(0) ? e * r : r, e * r * r};
}

}  // namespace tare::math
