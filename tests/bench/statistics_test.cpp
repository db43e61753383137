// SPDX-License-Identifier: Apache-2.0
// Statistics against closed forms and published values.
#include "tare/bench/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tare/core/error.h"

namespace tare::bench {
namespace {

TEST(Statistics, MiddleAndSpread) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(standard_deviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_EQ(standard_deviation({5}), 0);
  EXPECT_EQ(scatter({1, 2, 4}), 1.5);
  EXPECT_TRUE(std::isnan(median({})) && std::isnan(mean({})) && std::isnan(standard_deviation({})));
}

TEST(Statistics, TheIncompleteBetaFunctionHasItsClosedForms) {
  for (const double x : {0.0, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0}) {
    EXPECT_NEAR(incomplete_beta(1, 1, x), x, 1e-14) << x;
    EXPECT_NEAR(incomplete_beta(3, 1, x), x * x * x, 1e-14) << x;
    EXPECT_NEAR(incomplete_beta(1, 4, x), 1 - std::pow(1 - x, 4), 1e-14) << x;
    EXPECT_NEAR(incomplete_beta(0.5, 0.5, x), 2 / M_PI * std::asin(std::sqrt(x)), 1e-13) << x;
    EXPECT_NEAR(incomplete_beta(2.5, 7, x), 1 - incomplete_beta(7, 2.5, 1 - x), 1e-13) << x;
  }
  EXPECT_NEAR(incomplete_beta(500, 500, 0.5), 0.5, 1e-12);
}

TEST(Statistics, TheIncompleteBetaFunctionRefusesWhatItIsNotDefinedFor) {
  EXPECT_THROW(incomplete_beta(0, 1, 0.5), Error);
  EXPECT_THROW(incomplete_beta(1, 1, 1.5), Error);
  EXPECT_THROW(student_t_two_sided(1, 0), Error);
}

// One degree of freedom is the Cauchy distribution; two and four have closed forms; the quantiles are those
// of the usual tables.
TEST(Statistics, StudentsDistributionHasItsKnownValues) {
  for (const double t : {0.0, 0.3, 1.0, 2.5, 40.0}) {
    EXPECT_NEAR(student_t_two_sided(t, 1), 1 - 2 / M_PI * std::atan(t), 1e-13) << t;
    EXPECT_NEAR(student_t_two_sided(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-13) << t;
    EXPECT_EQ(student_t_two_sided(t, 3), student_t_two_sided(-t, 3));
  }
  const struct {
    double dof, t;
  } five_percent[] = {{1, 12.7062}, {2, 4.30265}, {5, 2.57058}, {10, 2.22814}, {30, 2.04227}, {120, 1.97993}};
  for (const auto& row : five_percent)
    EXPECT_NEAR(student_t_two_sided(row.t, row.dof), 0.05, 2e-6) << row.dof;
  EXPECT_NEAR(student_t_two_sided(1.959964, 1e7), 0.05, 1e-6);
  EXPECT_EQ(student_t_two_sided(INFINITY, 4), 0);
}

// Degrees of freedom and t by hand: means 3 and 6, variances 1 (of 3) and 4 (of 3).
TEST(Statistics, WelchsTestByHand) {
  const WelchTest test = welch_test({2, 3, 4}, {4, 6, 8});
  EXPECT_EQ(test.missing, "");
  EXPECT_NEAR(test.t, 3 / std::sqrt(5.0 / 3), 1e-14);
  EXPECT_NEAR(test.dof, (25.0 / 9) / ((1.0 / 9) / 2 + (16.0 / 9) / 2), 1e-13);
  EXPECT_NEAR(test.p, student_t_two_sided(test.t, test.dof), 1e-15);
  EXPECT_GT(test.p, 0.05);
  EXPECT_LT(welch_test({2, 3, 4}, {104, 106, 108}).p, 1e-3);
}

TEST(Statistics, WelchsTestSaysWhyThereIsNone) {
  EXPECT_EQ(welch_test({1}, {1, 2}).missing, "too few samples");
  EXPECT_EQ(welch_test({1, NAN}, {1, 2}).missing, "diverged");
  EXPECT_EQ(welch_test({1, 1}, {1, 1}).missing, "equal");
  EXPECT_EQ(welch_test({1, 1}, {2, 2}).missing, "no spread to test against");
}

TEST(Statistics, HolmsCorrection) {
  const std::vector<double> adjusted = holm({0.01, 0.04, 0.03, 0.005});
  EXPECT_NEAR(adjusted[3], 0.02, 1e-15);
  EXPECT_NEAR(adjusted[0], 0.03, 1e-15);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-15);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-15);  // not below the one before it
  EXPECT_EQ(holm({0.9, 0.8})[0], 1);
  EXPECT_TRUE(holm({}).empty());
}

TEST(Statistics, StretchesOfAProcess) {
  EXPECT_TRUE(batch_means(std::vector<double>(7, 1)).empty());
  EXPECT_EQ(batch_means({1, 3, 1, 3, 5, 7, 5, 7}), (std::vector<double>{2, 6}));
  EXPECT_EQ(batch_means(std::vector<double>(1000, 4)), std::vector<double>(10, 4));
}

}  // namespace
}  // namespace tare::bench
