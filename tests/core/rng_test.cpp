// SPDX-License-Identifier: Apache-2.0
// Philox against the published vectors; the distributions' moments; numbers that depend on nothing but their
// key.
#include "tare/core/rng.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/parallel.h"
#include "tare/core/tensor.h"

namespace tare {
namespace {

TEST(Philox, AgreesWithTheKnownAnswersOfRandom123) {
  // The rows "philox4x32 10" of Random123's kat_vectors: counter, key, result.
  struct Row {
    uint64_t low, high, key;
    uint32_t result[4];
  };
  const Row rows[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~0ull, ~0ull, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x85a308d3243f6a88ull,
       0x0370734413198a2eull,
       0x299f31d0a4093822ull,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Row& row : rows) {
    const Philox4 got = philox(row.key, row.low, row.high);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.v[i], row.result[i]);
  }
}

TEST(RngKey, MixesBothHalves) {
  // splitmix64 seeded with 0 begins with this number.
  EXPECT_EQ((RngKey{0, 0}.mix()), 0xe220a8397b1dcdafull);
  EXPECT_NE((RngKey{1, 0}.mix()), (RngKey{0, 0}.mix()));
  EXPECT_NE((RngKey{0, 1}.mix()), (RngKey{0, 0}.mix()));
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};

Moments moments_of(const std::vector<double>& x) {
  Moments m;
  const double n = double(x.size());
  for (const double v : x) m.mean += v / n;
  for (const double v : x) m.variance += (v - m.mean) * (v - m.mean) / n;
  for (const double v : x) {
    const double z = (v - m.mean) / std::sqrt(m.variance);
    m.skew += z * z * z / n;
    m.kurtosis += z * z * z * z / n;
  }
  return m;
}

TEST(Randn, HasTheMomentsAndTailsOfANormal) {
  const int64_t n = 1 << 20;
  const std::vector<double> x = Tensor::randn({n}, 7, {DType::f64, kCpu, {}}).to_vector<double>();
  const Moments m = moments_of(x);
  // Five standard errors each: 1, sqrt(2), sqrt(6), sqrt(24) over sqrt(n).
  EXPECT_NEAR(m.mean, 0, 5 / 1024.);
  EXPECT_NEAR(m.variance, 1, 5 * 1.415 / 1024);
  EXPECT_NEAR(m.skew, 0, 5 * 2.45 / 1024);
  EXPECT_NEAR(m.kurtosis, 3, 5 * 4.9 / 1024);
  for (const auto& [bound, probability] : {std::pair{1., 0.317311}, {2., 0.0455003}, {3., 0.0026998}}) {
    const double beyond =
        double(std::count_if(x.begin(), x.end(), [b = bound](double v) { return std::fabs(v) > b; }));
    EXPECT_NEAR(beyond / double(n), probability, 5 * std::sqrt(probability / double(n))) << bound;
  }
  // Both halves of a pair, and neighbours, are independent.
  double pairs = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) pairs += x[i] * x[i + 1] / double(n);
  EXPECT_NEAR(pairs, 0, 5 / 1024.);
}

TEST(FillUniform, RoundingDoesNotReachTheUpperBound) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const auto& [low, high] :
         {std::pair{0.0, 1.0}, {1.0, 2.0}, {-1.0, 0.0}, {-3.0, -2.0}, {0.0, 1.003}}) {
      Tensor t = Tensor::empty({1 << 18}, {dtype, kCpu, {}});
      fill_uniform(t, low, high, {5, 6});
      const std::vector<double> values = t.to_vector<double>();
      EXPECT_LT(*std::max_element(values.begin(), values.end()), high) << dtype << " " << low << " " << high;
      EXPECT_GE(*std::min_element(values.begin(), values.end()), low) << dtype << " " << low << " " << high;
    }
}

TEST(FillUniform, StaysInItsRangeAndFillsItEvenly) {
  Tensor t = Tensor::empty({1 << 18}, {DType::f64, kCpu, {}});
  fill_uniform(t, -2, 6, {3, 4});
  std::vector<int64_t> bins(16);
  for (const double x : t.to_vector<double>()) {
    ASSERT_GE(x, -2);
    ASSERT_LT(x, 6);
    ++bins[size_t((x + 2) * 2)];
  }
  for (const int64_t count : bins) EXPECT_NEAR(double(count), 16384, 5 * 128);
  EXPECT_EQ(uniform_from_bits(0), 0.f);
  EXPECT_LT(uniform_from_bits(~0u), 1.f);
}

TEST(Randn, DoesNotDependOnThreadsLengthOrDtype) {
  set_num_threads(1);
  const std::vector<double> one = Tensor::randn({100003}, 11, {DType::f64, kCpu, {}}).to_vector<double>();
  set_num_threads(4);
  EXPECT_EQ(Tensor::randn({100003}, 11, {DType::f64, kCpu, {}}).to_vector<double>(), one);
  const std::vector<double> first = Tensor::randn({10, 13}, 11, {DType::f64, kCpu, {}}).to_vector<double>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), one.begin()));
  const std::vector<double> half = Tensor::randn({1000}, 11, {DType::bf16, kCpu, {}}).to_vector<double>();
  const Tensor rounded =
      Tensor::from_vector(std::vector<double>(one.begin(), one.begin() + 1000), {1000}).to(DType::bf16);
  EXPECT_EQ(half, rounded.to_vector<double>());
  EXPECT_NE(Tensor::randn({1000}, 12, {DType::f64, kCpu, {}}).to_vector<double>(),
            std::vector<double>(one.begin(), one.begin() + 1000));
}

TEST(Randn, StridedTargetsGetTheSameNumbersInRowMajorOrder) {
  Tensor wide = Tensor::zeros({6, 8}, {DType::f64, kCpu, {}});
  Tensor view = wide.transpose(0, 1).slice(0, 1, 5);  // (4, 6)
  fill_normal(view, 2, 0.5, {1, 9});
  Tensor dense = Tensor::empty({4, 6}, {DType::f64, kCpu, {}});
  fill_normal(dense, 2, 0.5, {1, 9});
  EXPECT_EQ(view.to_vector<double>(), dense.to_vector<double>());
  EXPECT_EQ(wide.select(1, 0).to_vector<double>(), std::vector<double>(6, 0));
}

}  // namespace
}  // namespace tare
