// SPDX-License-Identifier: Apache-2.0
// What is said of repeated measurements: middle, spread, and whether two of them differ.
#pragma once

#include <string>
#include <vector>

namespace tare::bench {

double median(std::vector<double> values);                     // NaN of nothing
double mean(const std::vector<double>& values);                // NaN of nothing
double standard_deviation(const std::vector<double>& values);  // over n - 1; 0 of one value, NaN of nothing
double scatter(const std::vector<double>& values);             // (max - min) / median

// The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method); a, b > 0,
// x in [0, 1]. Error outside.
double incomplete_beta(double a, double b, double x);

// P(|T| >= |t|) of Student's t with `dof` > 0 degrees of freedom, which need not be whole.
double student_t_two_sided(double t, double dof);

// Welch's test of two means without equal variances (Welch 1947; Satterthwaite's degrees of freedom).
struct WelchTest {
  double t = 0, dof = 0;
  double p = 1;         // two-sided
  std::string missing;  // why there is no test: too few values, none finite, no spread; "" when there is one
};
WelchTest welch_test(const std::vector<double>& a, const std::vector<double>& b);

// Holm's step-down correction (Holm 1979): the p-values of several tests, each raised so that comparing it
// with a level bounds the chance of any false difference at that level. In the order given.
std::vector<double> holm(const std::vector<double>& p);

// Steps of one process follow each other, so they are no independent samples: the means of at most ten equal
// stretches are nearly so (batch means). Under eight values nothing is left.
std::vector<double> batch_means(const std::vector<double>& values);

}  // namespace tare::bench
