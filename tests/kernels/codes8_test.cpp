// SPDX-License-Identifier: Apache-2.0
// The 8-bit codes against a search through the whole map, on every instruction set of this processor.
#include "tare/kernels/codes8.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"

#include "tests/ref/codes8.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

using kernels::CodeFormat;
using kernels::CodeMap;
using kernels::QuantMap;

struct MapCase {
  QuantMap map;
  bool is_signed;
  const CodeMap& get() const { return kernels::code_map(map, is_signed); }
  std::string name() const { return std::string(name_of(map)) + (is_signed ? " signed" : " unsigned"); }
};
const MapCase kMaps[] = {
    {QuantMap::bnb, true}, {QuantMap::bnb, false}, {QuantMap::symmetric, true}, {QuantMap::zero_free, false}};

void on_each_isa(const std::function<void(Isa)>& f) {
  const Isa before = active_isa();
  for (Isa isa : {Isa::base, Isa::v3, Isa::v4})
    if (isa <= best_isa()) {
      set_active_isa(isa);
      f(isa);
    }
  set_active_isa(before);
}

std::vector<float> values_of(const CodeMap& m) { return {m.values.begin(), m.values.end()}; }

std::vector<uint8_t> encoded(const CodeMap& m, const std::vector<float>& x) {
  Tensor codes = Tensor::empty({int64_t(x.size())}, {DType::u8, kCpu, {}});
  kernels::encode_numbers(Tensor::from_vector(x, {int64_t(x.size())}), m, codes);
  return codes.to_vector<uint8_t>();
}

float next(float x, int ulps) { return std::bit_cast<float>(std::bit_cast<int32_t>(x) + ulps); }

TEST(Codes8, the_bnb_maps_are_the_dynamic_maps_of_the_paper) {
  for (bool is_signed : {true, false}) {
    const std::vector<double> want = ref::dynamic_map(is_signed);
    const CodeMap& m = kernels::code_map(QuantMap::bnb, is_signed);
    ASSERT_EQ(want.size(), 256u);
    for (size_t c = 0; c < 256; ++c)
      EXPECT_LE(std::fabs(m.values[c] - want[c]), 1e-6 * std::fabs(want[c])) << c;
    EXPECT_EQ(m.values[is_signed ? 127 : 0], 0);
    EXPECT_EQ(m.values[255], 1);
  }
}

TEST(Codes8, the_variants_differ_from_bnb_where_they_say) {
  const auto bnb = kernels::code_map(QuantMap::bnb, true).values,
             symmetric = kernels::code_map(QuantMap::symmetric, true).values;
  for (size_t c = 1; c < 254; ++c) EXPECT_EQ(symmetric[c], bnb[c]) << c;
  EXPECT_EQ(symmetric[0], -1);
  EXPECT_EQ(symmetric[254], 1);
  const auto with = kernels::code_map(QuantMap::bnb, false).values,
             without = kernels::code_map(QuantMap::zero_free, false).values;
  for (size_t c = 1; c < 256; ++c) EXPECT_EQ(without[c], with[c]) << c;
  EXPECT_NEAR(without[0], 5.5e-8, 1e-14);
}

// Every threshold with its neighbours, numbers spread over all magnitudes, and the ends.
std::vector<float> sample_of(const CodeMap& m) {
  std::vector<float> x{0, 1, next(1, 1), next(1, 2), 1e-45f, 1e-38f, 0x1p-30f, 0x1p-25f, 0x1p-24f};
  for (int n = 1; n < m.levels; ++n)
    for (int ulps = -3; ulps <= 3; ++ulps) x.push_back(next(m.thresholds[size_t(n)], ulps));
  for (float value : m.values) x.push_back(std::fabs(value));
  const int32_t one = std::bit_cast<int32_t>(1.0f);
  for (int32_t bits = std::bit_cast<int32_t>(1e-9f); bits <= one; bits += 20011)
    x.push_back(std::bit_cast<float>(bits));
  if (m.is_signed)
    for (size_t i = 0, n = x.size(); i < n; ++i) x.push_back(-x[i]);
  while (x.size() % 32 != 7) x.push_back(0.5f);  // a rest that fills no register
  return x;
}

TEST(Codes8, every_number_gets_the_nearest_code_on_every_instruction_set) {
  for (const MapCase& c : kMaps) {
    const CodeMap& m = c.get();
    const std::vector<float> x = sample_of(m), values = values_of(m);
    std::vector<uint8_t> want;
    for (float v : x) want.push_back(ref::nearest_code(values, v));
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(m.code_of(x[i]), want[i]) << c.name() << " " << x[i];
    on_each_isa([&](Isa isa) {
      const auto got = encoded(m, x);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(int(got[i]), int(want[i])) << c.name() << " " << name_of(isa) << " " << x[i];
    });
  }
}

TEST(Codes8, a_tie_goes_away_from_zero) {
  int ties = 0;
  for (const MapCase& c : kMaps) {
    const CodeMap& m = c.get();
    const uint8_t zero = c.is_signed ? 127 : 0;
    for (int n = 1; n < m.levels; ++n) {
      const float t = m.thresholds[size_t(n)];
      const double low = m.values[zero + size_t(n) - 1], high = m.values[zero + size_t(n)];
      EXPECT_GE(double(t), (low + high) / 2);
      ties += double(t) == (low + high) / 2;
      EXPECT_EQ(m.code_of(t), zero + n);
      EXPECT_EQ(m.code_of(next(t, -1)), zero + n - 1);
      if (c.is_signed && n < 128) {
        EXPECT_EQ(m.code_of(-t), zero - n);
      }
    }
  }
  EXPECT_GT(ties, 100);
}

// All floats of [-1, 1] and a little beyond, on each instruction set that has a path of its own; the search
// is by thresholds, which the tests above check.
TEST(Codes8, every_float_there_is) {
  if (!std::getenv("TARE_TEST_ALL")) GTEST_SKIP() << "2.1e9 numbers: set TARE_TEST_ALL=1";
  constexpr int64_t kChunk = 1 << 20;
  const int64_t end = std::bit_cast<int32_t>(1.0f) + 32;
  for (const MapCase& c : kMaps)
    on_each_isa([&](Isa isa) {
      const CodeMap& m = c.get();
      Tensor x = Tensor::empty({kChunk}), codes = Tensor::empty({kChunk}, {DType::u8, kCpu, {}});
      int64_t n = 0;
      for (int64_t first = 0; first < end; first += kChunk) {
        const int64_t count = std::min(kChunk, end - first);
        for (const int sign : {1, -1}) {
          if (sign < 0 && !c.is_signed) continue;
          auto* in = x.mutable_data<float>();
          for (int64_t i = 0; i < kChunk; ++i)
            in[i] = float(sign) * std::bit_cast<float>(int32_t(first + std::min(i, count - 1)));
          kernels::encode_numbers(x, m, codes);
          const auto* got = codes.data<uint8_t>();
          int64_t wrong = 0, at = n;
          for (int64_t i = 0; i < count; ++i) {
            while (at + 1 < m.levels && std::fabs(in[i]) >= m.thresholds[size_t(at + 1)]) ++at;
            const int64_t want = !c.is_signed ? at : sign > 0 ? 127 + at : std::max<int64_t>(0, 127 - at);
            wrong += got[i] != want;
          }
          ASSERT_EQ(wrong, 0) << c.name() << " " << name_of(isa) << " from " << in[0];
          if (sign < 0 || !c.is_signed) n = at;
        }
      }
    });
}

TEST(Codes8, blocks_hold_their_greatest_number_exactly_and_the_rest_to_the_nearest_code) {
  for (const MapCase& c : kMaps)
    for (const auto& [n, block] : {std::pair<int64_t, int64_t>{1, 256},
                                   {255, 256},
                                   {256, 256},
                                   {1000, 256},
                                   {777, 32},
                                   {9000, 4096}}) {
      Values values = normal()(n, 3);
      for (double& v : values) v = c.is_signed ? v : v * v;
      const CodeFormat format{block, c.map, c.is_signed};
      const Tensor x = tensor_of(values, {n}, DType::f32);
      const int64_t blocks = kernels::code_blocks(n, block);
      on_each_isa([&](Isa isa) {
        Tensor codes = Tensor::empty({n}, {DType::u8, kCpu, {}}), absmax = Tensor::empty({blocks}),
               back = Tensor::empty({n});
        kernels::encode_blocks(x, format, codes, absmax);
        kernels::decode_blocks(codes, absmax, format, back);
        for (int64_t i = 0; i < n; ++i) {
          const float greatest = absmax.data<float>()[i / block], v = x.data<float>()[i];
          const uint8_t code = codes.data<uint8_t>()[i];
          EXPECT_EQ(code, c.get().code_of(v * (1 / greatest))) << name_of(isa);
          EXPECT_EQ(back.data<float>()[i], c.get().values[code] * greatest) << name_of(isa);
          if (std::fabs(v) == greatest && (v > 0 || c.map == QuantMap::symmetric)) {
            EXPECT_EQ(back.data<float>()[i], v) << name_of(isa);
          }
        }
      });
    }
}

TEST(Codes8, a_block_of_zeros_or_denormals_is_zero) {
  for (const MapCase& c : kMaps)
    for (double value : {0.0, 1e-42, 1.1e-38}) {
      const Tensor x = Tensor::full({300}, value);
      Tensor codes = Tensor::empty({300}, {DType::u8, kCpu, {}}), absmax = Tensor::empty({2}),
             back = Tensor::empty({300});
      kernels::encode_blocks(x, {256, c.map, c.is_signed}, codes, absmax);
      EXPECT_EQ(absmax.to_vector<float>(), (std::vector<float>{0, 0}));
      for (uint8_t code : codes.to_vector<uint8_t>()) EXPECT_EQ(code, c.is_signed ? 127 : 0);
      kernels::decode_blocks(codes, absmax, {256, c.map, c.is_signed}, back);
      EXPECT_TRUE(same_bits(back, Tensor::zeros({300})));
    }
}

TEST(Codes8, the_greatest_floats_keep_their_scale) {
  std::vector<float> x(64, 3e38f);
  x[1] = std::numeric_limits<float>::max();
  x[2] = 1e38f;
  on_each_isa([&](Isa) {
    Tensor codes = Tensor::empty({64}, {DType::u8, kCpu, {}}), absmax = Tensor::empty({1}),
           back = Tensor::empty({64});
    kernels::encode_blocks(Tensor::from_vector(x, {64}), {64, QuantMap::bnb, true}, codes, absmax);
    kernels::decode_blocks(codes, absmax, {64, QuantMap::bnb, true}, back);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back.data<float>()[i] / x[i], 1, 0.02) << i;
  });
}

TEST(Codes8, what_cannot_be_is_an_error_that_says_so) {
  EXPECT_ERROR(kernels::code_map(QuantMap::symmetric, false), "it is for exp_avg");
  EXPECT_ERROR(kernels::code_map(QuantMap::zero_free, true), "it is for exp_avg_sq");
  EXPECT_ERROR(kernels::quant_map_from_name("ao"), "expected bnb, symmetric or zero-free");
  for (int64_t block : {0, 8, 100, 8192})
    EXPECT_ERROR(kernels::check_code_block("adamw8bit", block), "block " + std::to_string(block));
  Tensor codes = Tensor::empty({8}, {DType::u8, kCpu, {}}), absmax = Tensor::empty({2});
  EXPECT_ERROR(kernels::encode_blocks(Tensor::zeros({8}), {}, codes, absmax), "absmax");
}

}  // namespace
}  // namespace tare::test
