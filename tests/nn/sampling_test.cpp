// SPDX-License-Identifier: Apache-2.0
// The choice of the next token: temperature, top-k, ties, reproducibility.
#include "tare/nn/sampling.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/error.h"

namespace tare::nn {
namespace {

const std::vector<double> kLogits{1.0, 3.0, -2.0, 3.0, 0.5};

TEST(Sampling, OnlyTheFirstTokensOfAVocabularyMayBeChosen) {
  std::vector<double> logits(300, 0.0);
  logits[299] = 50;
  EXPECT_EQ(choose_token(logits, {.temperature = 0}, 0), 299);
  logits[17] = 1;
  EXPECT_EQ(choose_token(logits, {.temperature = 0, .vocabulary = 256}, 0), 17);
  for (int64_t i = 0; i < 200; ++i) EXPECT_LT(choose_token(logits, {.vocabulary = 256, .seed = 4}, i), 256);
}

TEST(Sampling, TemperatureZeroTakesTheFirstGreatest) {
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(choose_token(kLogits, {.temperature = 0, .seed = 9}, i), 1);
}

TEST(Sampling, FrequenciesFollowTheSoftmaxAtTheTemperature) {
  constexpr int kDraws = 40000;
  for (const double temperature : {0.5, 1.0, 3.0}) {
    std::array<double, 5> expected{}, counts{};
    double total = 0;
    for (size_t t = 0; t < 5; ++t) total += expected[t] = std::exp(kLogits[t] / temperature);
    for (int64_t i = 0; i < kDraws; ++i)
      ++counts[size_t(choose_token(kLogits, {.temperature = temperature, .seed = 4}, i))];
    for (size_t t = 0; t < 5; ++t) {
      const double p = expected[t] / total;
      EXPECT_NEAR(counts[t] / kDraws, p, 5 * std::sqrt(p * (1 - p) / kDraws)) << t << " at " << temperature;
    }
  }
}

TEST(Sampling, TopKLeavesTheOthersOut) {
  std::array<int, 5> counts{};
  for (int64_t i = 0; i < 2000; ++i)
    ++counts[size_t(choose_token(kLogits, {.temperature = 5, .top_k = 3, .seed = 1}, i))];
  EXPECT_GT(counts[0], 0);
  EXPECT_GT(counts[1], 0);
  EXPECT_GT(counts[3], 0);
  EXPECT_EQ(counts[2] + counts[4], 0);
  // Among equals the first one stays.
  EXPECT_EQ(choose_token(kLogits, {.temperature = 5, .top_k = 1, .seed = 1}, 0), 1);
  // More than there are is all.
  EXPECT_EQ(choose_token(kLogits, {.top_k = 9, .seed = 3}, 2), choose_token(kLogits, {.seed = 3}, 2));
}

TEST(Sampling, ADrawDependsOnSeedAndIndexAlone) {
  std::vector<int64_t> a, b, c;
  for (int64_t i = 0; i < 50; ++i) a.push_back(choose_token(kLogits, {.temperature = 2, .seed = 1}, i));
  for (int64_t i = 49; i >= 0; --i)
    b.insert(b.begin(), choose_token(kLogits, {.temperature = 2, .seed = 1}, i));
  for (int64_t i = 0; i < 50; ++i) c.push_back(choose_token(kLogits, {.temperature = 2, .seed = 2}, i));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(Sampling, BadOptionsAndLogitsAreErrors) {
  EXPECT_THROW(choose_token(kLogits, {.temperature = -1}, 0), Error);
  EXPECT_THROW(choose_token(kLogits, {.temperature = std::nan("")}, 0), Error);
  EXPECT_THROW(choose_token(kLogits, {.top_k = -1}, 0), Error);
  EXPECT_THROW(choose_token(std::vector<double>{}, {}, 0), Error);
  EXPECT_THROW(choose_token(std::vector<double>{0, std::numeric_limits<double>::infinity()}, {}, 0), Error);
  EXPECT_THROW(choose_token(std::vector<double>{0, std::nan("")}, {.temperature = 0}, 0), Error);
}

}  // namespace
}  // namespace tare::nn
