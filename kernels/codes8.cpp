// SPDX-License-Identifier: Apache-2.0
// Compiled without contraction of a * b + c: a table's values are those that lanes compute.
#include "tare/kernels/codes8.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

constexpr int kClasses = 8;

double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

// value = scale f + offset with f = q for unsigned, q + 0.5 for signed maps, so that f's exponent field mod 8
// is (j - 1) mod 8 for every q. The two magnitudes left over share the slot of the class that is not there:
// f = 1 and 256, or 0.5 and 128.5, give exactly 0 and 1.
void set_value_lines(CodeMap& m) {
  for (int j = m.is_signed ? 0 : 1; j < (m.is_signed ? 7 : 8); ++j) {
    const double decade = power_of_ten(j - (m.is_signed ? 6 : 7)), codes = std::exp2(j);
    m.value_scale[size_t(j + 7) % 8] = float(0.9 * decade / codes);
    m.value_offset[size_t(j + 7) % 8] = float(decade * (-0.8 + (m.is_signed ? 0 : 0.45 / codes)));
  }
  const size_t rest = m.is_signed ? 6 : 7;
  m.value_scale[rest] = m.is_signed ? 1.0f / 128 : 1.0f / 255;
  m.value_offset[rest] = m.is_signed ? -1.0f / 256 : -m.value_scale[rest];
}

// Of the n-th magnitude, for one sign.
float magnitude(const CodeMap& m, int n) {
  if (m.map == QuantMap::symmetric && n == m.levels - 1) return 1;
  if (m.map == QuantMap::zero_free && n == 0) return float(1e-7 * (-0.8 + 0.9 * 1.5));
  const float f = m.is_signed ? float(n) + 0.5f : float(n + 1);
  const size_t slot = (std::bit_cast<uint32_t>(f) >> 23) & 7;
  const float product = m.value_scale[slot] * f;
  return product + m.value_offset[slot];
}

void set_values(CodeMap& m) {
  for (int code = 0; code < 256; ++code) {
    const int n = m.is_signed ? std::abs(code - 127) : code;
    const float value = magnitude(m, std::min(n, m.levels - 1));
    m.values[size_t(code)] = m.is_signed && code < 127 ? -value : value;
  }
}

void set_thresholds(CodeMap& m) {
  m.thresholds.fill(std::numeric_limits<float>::infinity());
  m.thresholds[0] = 0;
  for (int n = 1; n < m.levels; ++n) {
    const double middle = (double(magnitude(m, n - 1)) + double(magnitude(m, n))) / 2;
    float least = float(middle);
    if (double(least) < middle) least = std::nextafter(least, 2.0f);
    m.thresholds[size_t(n)] = least;
  }
}

void set_buckets(CodeMap& m) {
  uint32_t n = 0;
  for (uint32_t bucket = CodeMap::kFirstBucket; bucket <= CodeMap::kLastBucket; ++bucket) {
    uint32_t next = 0x10000;
    if (int(n) + 1 < m.levels) {
      const uint32_t bits = std::bit_cast<uint32_t>(m.thresholds[n + 1]);
      TARE_CHECK(bits >> 16 >= bucket, "code map: two thresholds share a bucket");
      if (bits >> 16 == bucket) next = bits & 0xffff;
    }
    m.buckets[bucket - CodeMap::kFirstBucket] = n << 17 | next;
    if (next != 0x10000) ++n;
  }
  TARE_CHECK(int(n) == m.levels - 1, "code map: a threshold lies outside the buckets");
}

// Class k of a magnitude q: unsigned floor(log2 q); signed 0 for q = 0, else floor(log2 q) + 1. A number's
// place in its class is x 2^j / (0.9 10^(j - J)) + 2^j 0.8 / 0.9, whose floor is q; the offset is 2^-13, two
// of the 14 bits of the fraction's units, above that: what comes close to a threshold is looked up (near).
void set_lanes(CodeMap& m) {
  m.has_lanes = true;
  const int first = m.is_signed ? 0 : 1, top = m.is_signed ? 6 : 7;
  for (int k = 0; k < kClasses; ++k) {
    const int edge = 1 << k;  // n of the least number of class k + 1
    m.edge[size_t(k)] = m.thresholds[size_t(m.is_signed ? edge : 2 * edge - 1)];
    if (k == 0) continue;
    const int j = k - 1 + first;
    m.scale[size_t(k)] = float(std::exp2(j) / (0.9 * power_of_ten(j - top)));
    m.offset[size_t(k)] = float(768 + 0.8 / 0.9 * std::exp2(j) - first + std::exp2(-13));
    const int last = (2 << j) - 1 - first;
    m.limit[size_t(k)] = std::bit_cast<int32_t>(768.5f + float(last));
  }
  m.scale[0] = m.is_signed ? 128 : 255;
  m.offset[0] = float(768.5 + std::exp2(-13));
  m.limit[0] = std::numeric_limits<int32_t>::max();
}

CodeMap make_map(QuantMap map, bool is_signed) {
  CodeMap m;
  m.map = map;
  m.is_signed = is_signed;
  m.levels = !is_signed ? 256 : map == QuantMap::symmetric ? 128 : 129;
  set_value_lines(m);
  set_values(m);
  set_thresholds(m);
  set_buckets(m);
  if (map == QuantMap::bnb) set_lanes(m);
  return m;
}

void check_blocks(const char* op, const Tensor& x, const Tensor& codes, const Tensor& absmax,
                  const CodeFormat& format) {
  check_code_block(op, format.block);
  check_same_dtype(op, "x", x, DType::f32);
  check_same_dtype(op, "codes", codes, DType::u8);
  check_same_shape(op, "codes", codes, x.shape());
  check_same_dtype(op, "absmax", absmax, DType::f32);
  check_same_shape(op, "absmax", absmax, {code_blocks(x.numel(), format.block)});
  for (const auto& [name, t] : {std::pair<const char*, const Tensor&>{"codes", codes}, {"absmax", absmax}})
    check_same_device(op, name, t, x.device());
  check_contiguous(op, "x", x);
  check_contiguous(op, "codes", codes);
  check_contiguous(op, "absmax", absmax);
  code_map(format.map, format.is_signed);
}

}  // namespace

std::string_view name_of(QuantMap map) {
  switch (map) {
    case QuantMap::bnb:
      return "bnb";
    case QuantMap::symmetric:
      return "symmetric";
    case QuantMap::zero_free:
      return "zero-free";
  }
  TARE_THROW("unknown QuantMap ", int(map));
}

QuantMap quant_map_from_name(std::string_view name) {
  for (QuantMap map : {QuantMap::bnb, QuantMap::symmetric, QuantMap::zero_free})
    if (name == name_of(map)) return map;
  TARE_THROW("unknown map of 8-bit codes \"", name, "\": expected bnb, symmetric or zero-free");
}

const CodeMap& code_map(QuantMap map, bool is_signed) {
  TARE_CHECK(map != QuantMap::symmetric || is_signed, "the map symmetric has a sign: it is for exp_avg");
  TARE_CHECK(map != QuantMap::zero_free || !is_signed, "the map zero-free has no sign: it is for exp_avg_sq");
  static const CodeMap signed_bnb = make_map(QuantMap::bnb, true),
                       unsigned_bnb = make_map(QuantMap::bnb, false),
                       symmetric = make_map(QuantMap::symmetric, true),
                       zero_free = make_map(QuantMap::zero_free, false);
  switch (map) {
    case QuantMap::bnb:
      return is_signed ? signed_bnb : unsigned_bnb;
    case QuantMap::symmetric:
      return symmetric;
    case QuantMap::zero_free:
      return zero_free;
  }
  TARE_THROW("unknown QuantMap ", int(map));
}

uint8_t CodeMap::code_of(float x) const {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const int n = int(index_of(bits & 0x7fffffff));
  if (!is_signed) return uint8_t(x > 0 ? n : 0);
  return uint8_t(bits >> 31 ? std::max(127 - n, 0) : 127 + n);
}

void check_code_block(const char* op, int64_t block) {
  TARE_CHECK(block >= kMinCodeBlock && block <= kMaxCodeBlock && block % kMinCodeBlock == 0, op, ": block ",
             block, ", expected a multiple of ", kMinCodeBlock, " up to ", kMaxCodeBlock);
}

void encode_blocks(const Tensor& x, const CodeFormat& format, Tensor& codes, Tensor& absmax) {
  check_blocks("encode_blocks", x, codes, absmax, format);
  const double n = double(x.numel());
  TARE_DISPATCH_CPU(x.device(), (Cost{10 * n, 5 * n + double(absmax.nbytes())}),
                    encode_blocks(x, format, codes, absmax));
}

void decode_blocks(const Tensor& codes, const Tensor& absmax, const CodeFormat& format, Tensor& x) {
  check_blocks("decode_blocks", x, codes, absmax, format);
  const double n = double(x.numel());
  TARE_DISPATCH_CPU(x.device(), (Cost{3 * n, 5 * n + double(absmax.nbytes())}),
                    decode_blocks(codes, absmax, format, x));
}

void encode_numbers(const Tensor& x, const CodeMap& map, Tensor& codes) {
  check_same_dtype("encode_numbers", "x", x, DType::f32);
  check_same_dtype("encode_numbers", "codes", codes, DType::u8);
  check_same_shape("encode_numbers", "codes", codes, x.shape());
  check_same_device("encode_numbers", "codes", codes, x.device());
  check_contiguous("encode_numbers", "x", x);
  check_contiguous("encode_numbers", "codes", codes);
  const double n = double(x.numel());
  TARE_DISPATCH_CPU(x.device(), (Cost{9 * n, 5 * n}), encode_numbers(x, map, codes));
}

}  // namespace tare::kernels
