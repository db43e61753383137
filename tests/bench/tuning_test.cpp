// SPDX-License-Identifier: Apache-2.0
// The sweep of learning rates finds the best rate, also where it begins badly.
#include "tare/bench/tuning.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tare/core/error.h"

#include "tests/support/expect_error.h"

namespace tare::bench {
namespace {

// Sweeps where `loss` of the rate is the held-out loss, and NaN a divergence.
LearningRateSearch swept(double lr, const std::function<double(double)>& loss) {
  LearningRateSearch search(lr);
  while (const auto factor = search.next()) {
    const double value = loss(*factor * lr);
    search.add({*factor, *factor * lr, value, value, std::isfinite(value) ? 0 : 3});
    if (search.points().size() > 20) ADD_FAILURE() << "it does not end";
  }
  return search;
}

double bowl(double lr, double best) { return std::pow(std::log2(lr / best), 2); }

TEST(Tuning, TakesTheBestOfFiveRatesWhereItLiesInside) {
  const LearningRateSearch search = swept(1e-3, [](double lr) { return bowl(lr, 2.1e-3); });
  EXPECT_EQ(search.points().size(), 5u);
  EXPECT_EQ(search.best().factor, 2);
  EXPECT_FALSE(search.is_at_edge());
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(search.points()[i].factor, 2 * search.points()[i - 1].factor);
}

TEST(Tuning, GrowsTowardsABestRateOutside) {
  EXPECT_EQ(swept(1e-3, [](double lr) { return bowl(lr, 17e-3); }).best().factor, 16);
  const LearningRateSearch low = swept(1, [](double lr) { return bowl(lr, 1.0 / 30); });
  EXPECT_EQ(low.best().factor, 1.0 / 32);
  EXPECT_FALSE(low.is_at_edge());
}

TEST(Tuning, EndsAtTheEdgeAndSaysSo) {
  const LearningRateSearch search = swept(1, [](double lr) { return -lr; });
  EXPECT_EQ(search.best().factor, 64);
  EXPECT_TRUE(search.is_at_edge());
}

TEST(Tuning, ARateThatDivergesIsNeverTheBest) {
  const LearningRateSearch search = swept(1, [](double lr) { return lr > 0.2 ? NAN : 5 - lr; });
  EXPECT_EQ(search.best().factor, 0.125);
  const LearningRateSearch hopeless = swept(1, [](double) { return NAN; });
  EXPECT_EQ(hopeless.best().factor, 1.0 / 64);
  EXPECT_TRUE(hopeless.is_at_edge());
}

TEST(Tuning, AFiniteLossAfterADivergenceDoesNotCount) {
  LearningRateSearch search(1);
  search.add({1, 1, 2, 2, 0});
  search.add({2, 2, 1, 1, 40});
  EXPECT_EQ(search.best().factor, 1);
}

TEST(Tuning, PutsTheRateIntoTheText) {
  EXPECT_EQ(with_learning_rate("adamw", 0.004), "adamw:lr=0.004");
  EXPECT_EQ(with_learning_rate("adamw:lr=1e-3,beta2=0.95", 0.002), "adamw:lr=0.002,beta2=0.95");
  EXPECT_EQ(with_learning_rate("sgd:momentum=0.9", 0.5), "sgd:momentum=0.9,lr=0.5");
  EXPECT_EQ(learning_rate_of("sgd:momentum=0.9,lr=0.25"), 0.25);
  EXPECT_EQ(learning_rate_of("adamw"), 1e-3);
  EXPECT_EQ(learning_rate_of("adafactor:preset=torch"), 1e-2);
  EXPECT_ERROR(learning_rate_of("adafactor"), "tuning of adafactor: without a learning rate its steps are");
  EXPECT_THROW(with_learning_rate("adamw:beta3=1", 1), Error);
  EXPECT_THROW(LearningRateSearch(1).best(), Error);
}

}  // namespace
}  // namespace tare::bench
