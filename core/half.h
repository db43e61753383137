// SPDX-License-Identifier: Apache-2.0
// Storage types f16 and bf16. They hold bits; arithmetic is done in float (load, compute, store).
// The conversions are branch-free integer code, so that loops over them vectorise, and round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#define TARE_HD __host__ __device__ __forceinline__
#else
#define TARE_HD inline __attribute__((always_inline))
#endif

namespace tare {

namespace detail {

TARE_HD float bf16_bits_to_float(uint16_t b) { return std::bit_cast<float>(uint32_t(b) << 16); }

TARE_HD uint16_t float_to_bf16_bits(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return uint16_t(f == f ? rounded
                         : 0x7fc0u);  // f == f: an integer test of NaN costs more (no vector compare)
}

TARE_HD float f16_bits_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16;
  const uint32_t mag = uint32_t(h & 0x7fffu) << 13;  // exponent and mantissa in float's place
  // Scaling by 2^112 re-biases the exponent and normalises subnormals exactly.
  const float scaled = std::bit_cast<float>(mag) * 0x1p112f;
  const uint32_t special = std::bit_cast<uint32_t>(scaled) | 0x7f800000u;  // inf and NaN keep their mantissa
  const uint32_t bits = mag >= 0x0f800000u ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

TARE_HD uint16_t float_to_f16_bits(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t mag = u & 0x7fffffffu;
  // Normal range: re-bias, add half an ulp, ties to even.
  const uint32_t normal = (mag - 0x38000000u + 0xfffu + ((mag >> 13) & 1u)) >> 13;
  // Subnormal range: adding 0.5f aligns the mantissa to 2^-24, with the FPU's own rounding.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(mag) + 0.5f) - 0x3f000000u;
  uint32_t h = mag < 0x38800000u ? subnormal : normal;
  h = mag >= 0x477ff000u ? 0x7c00u : h;  // 65520 and above round to infinity
  h = mag > 0x7f800000u ? 0x7e00u : h;
  return uint16_t(h | sign);
}

}  // namespace detail

// Assignment is written out because gcc does not vectorise a loop that copies a struct.
struct f16 {
  uint16_t bits = 0;
  f16() = default;
  f16(const f16&) = default;
  TARE_HD f16& operator=(const f16& other) {
    bits = other.bits;
    return *this;
  }
  TARE_HD f16(float f) : bits(detail::float_to_f16_bits(f)) {}
  TARE_HD operator float() const { return detail::f16_bits_to_float(bits); }
};

struct bf16 {
  uint16_t bits = 0;
  bf16() = default;
  bf16(const bf16&) = default;
  TARE_HD bf16& operator=(const bf16& other) {
    bits = other.bits;
    return *this;
  }
  TARE_HD bf16(float f) : bits(detail::float_to_bf16_bits(f)) {}
  TARE_HD operator float() const { return detail::bf16_bits_to_float(bits); }
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

// The type in which a kernel computes: float for half types, the type itself otherwise.
template <class T> struct AccumulateType { using type = T; };
template <> struct AccumulateType<f16> { using type = float; };
template <> struct AccumulateType<bf16> { using type = float; };
template <class T> using acc_t = typename AccumulateType<T>::type;

}  // namespace tare
