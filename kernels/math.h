// SPDX-License-Identifier: Apache-2.0
// Scalar formulas, each standing once for host and device. Branch-free, so that loops over them vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tare/core/half.h"

namespace tare::math {

// e^x. Cody and Waite reduction by ln 2, degree-6 minimax polynomial on [-ln2/2, ln2/2]; at most 2 ulp. Below
// -87.3 the result is 0 (no denormals), above 88.7 it is inf, NaN stays NaN.
TARE_HD float exp(float x) {
  const float clamped = x > 88.8f ? 88.8f : (x < -87.4f ? -87.4f : x);
  const float k = (clamped * 1.44269504089f + 12582912.0f) - 12582912.0f;  // nearest integer
  float r = clamped - k * 0.693359375f;
  r = r - k * -2.12194440e-4f;
  float p = 1.3981999e-3f;
  p = p * r + 8.3334519e-3f;
  p = p * r + 4.1665795e-2f;
  p = p * r + 1.6666665e-1f;
  p = p * r + 5.0000000e-1f;
  const float e = (p * r) * r + r + 1.0f;
  const float scale = std::bit_cast<float>((int32_t(k) + 127) << 23);  // k = 128 gives inf
  const float y = e * scale;
  return x != x ? x : (x < -87.3365448f ? 0.0f : y);
}
TARE_HD double exp(double x) { return std::exp(x); }

}  // namespace tare::math
