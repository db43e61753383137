// SPDX-License-Identifier: Apache-2.0
// 8-bit codes of numbers in [-1, 1] or [0, 1]: the dynamic maps of Dettmers et al., "8-bit optimizers via
// block-wise quantization" (2022), in bitsandbytes' order of codes, and arrays coded in blocks, each with its
// greatest magnitude.
//
// A magnitude q stands for 10^(j - J) (-0.8 + 0.9 (q + 0.5) / 2^j) with j = floor(log2 q): each decade has
// twice the codes of the one below it.
//   signed    J = 6, q = |code - 127| in 0..128; q = 0 is 0, q = 128 is 1, which has no negative
//   unsigned  J = 7, q = code + 1 in 1..256;     q = 1 is 0, q = 256 is 1
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

enum class QuantMap : uint8_t {
  bnb,        // bitsandbytes': as above
  symmetric,  // signed only: q = 127 is 1 on both sides and code 255 is never written
  zero_free,  // unsigned only: q = 1 is what the formula says, 5.5e-8, so that nothing becomes 0
};

std::string_view name_of(QuantMap map);               // "bnb", "symmetric", "zero-free"
QuantMap quant_map_from_name(std::string_view name);  // Error that lists the names

// The 256 numbers of a map and how others are rounded to them: to the nearest, away from zero where two are
// equally near; zero stays zero. All of f32, the midpoints of thresholds in f64, which is exact.
struct CodeMap {
  static constexpr uint32_t kFirstBucket = 0x3300;  // upper halves of the bits of 2^-25 ...
  static constexpr uint32_t kLastBucket = 0x3f80;   // ... and of 1: no threshold lies below or above
  static constexpr int kLanes = 8;

  QuantMap map;
  bool is_signed;
  int levels;                         // magnitudes, the least included, for one sign
  std::array<float, 256> values;      // of the codes
  std::array<float, 256> thresholds;  // [n]: the least number that is rounded to the n-th magnitude or above

  // By the upper half of a number's bits: n << 17 | the lower half of the bits from which it is n + 1
  // (0x10000: never), as no two thresholds share an upper half.
  std::array<uint32_t, kLastBucket - kFirstBucket + 1> buckets;

  // For look-ups in eight lanes, of the bnb maps alone. Numbers are sorted into nine classes k, within which
  // n = floor(scale x + offset), k = 8 sharing slot 0.
  bool has_lanes = false;
  alignas(32) std::array<float, kLanes> value_scale, value_offset;  // by exponent mod 8, see decode_lanes()
  alignas(32) std::array<float, kLanes> edge;  // from which a number of class k is of class k + 1
  alignas(32) std::array<float, kLanes> scale,
      offset;                                     // the offset includes 768, so that n is read from bits
  alignas(32) std::array<int32_t, kLanes> limit;  // the greatest bits that the class may have

  // The magnitude's index n, from the bits of a number >= 0.
  uint32_t index_of(uint32_t bits) const {
    uint32_t bucket = bits >> 16;
    bucket = bucket < kFirstBucket ? kFirstBucket : bucket > kLastBucket ? kLastBucket : bucket;
    const uint32_t low = bits >> 16 < kFirstBucket ? 0 : bits & 0xffff;
    const uint32_t entry = buckets[bucket - kFirstBucket];
    return (entry >> 17) + (low >= (entry & 0x1ffff) ? 1 : 0);
  }
  uint8_t code_of(float x) const;  // of a finite number; those beyond +-1 are taken as +-1
};

// Error for a map that has no such sign.
const CodeMap& code_map(QuantMap map, bool is_signed);

inline constexpr int64_t kMinCodeBlock = 32, kMaxCodeBlock = 4096;
// Error, with `op`, unless it is a multiple of kMinCodeBlock and at most kMaxCodeBlock.
void check_code_block(const char* op, int64_t block);
inline int64_t code_blocks(int64_t numel, int64_t block) { return (numel + block - 1) / block; }

struct CodeFormat {
  int64_t block = 256;
  QuantMap map = QuantMap::bnb;
  bool is_signed = true;
};

// codes (x's shape, u8) and absmax (blocks, f32) of x (f32, finite), cut into blocks as it lies in memory. A
// block whose greatest magnitude is not a normal number is stored as 0. Bits do not depend on threads or
// instruction set.
void encode_blocks(const Tensor& x, const CodeFormat& format, Tensor& codes, Tensor& absmax);
// x (f32) = value of the code times the block's absmax.
void decode_blocks(const Tensor& codes, const Tensor& absmax, const CodeFormat& format, Tensor& x);
// codes (u8) of the numbers x (f32, in [-1, 1], or [0, 1] for an unsigned map) themselves.
void encode_numbers(const Tensor& x, const CodeMap& map, Tensor& codes);

TARE_DECLARE_TWINS(encode_blocks, const Tensor& x, const CodeFormat& format, Tensor& codes, Tensor& absmax)
TARE_DECLARE_TWINS(decode_blocks, const Tensor& codes, const Tensor& absmax, const CodeFormat& format,
                   Tensor& x)
TARE_DECLARE_TWINS(encode_numbers, const Tensor& x, const CodeMap& map, Tensor& codes)

}  // namespace tare::kernels
