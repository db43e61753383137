// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tare/core/error.h"

namespace tare::bench {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The continued fraction of I_x(a, b), which converges quickly for x below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 10'000;
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kEnough) return result;
  }
  TARE_THROW("incomplete_beta: no convergence for a ", a, ", b ", b, ", x ", x);
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return kNaN;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() == 1) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double v : values) squares += (v - middle) * (v - middle);
  return values.empty() ? kNaN : std::sqrt(squares / double(values.size() - 1));
}

double scatter(const std::vector<double>& values) {
  if (values.empty()) return kNaN;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / median(values);
}

double incomplete_beta(double a, double b, double x) {
  TARE_CHECK(a > 0 && b > 0 && x >= 0 && x <= 1, "incomplete_beta: a ", a, ", b ", b, ", x ", x,
             "; expected a and b above 0, x in [0, 1]");
  if (x == 0 || x == 1) return x;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(a, b, x) / a;
  return 1 - std::exp(log_front) * beta_fraction(b, a, 1 - x) / b;
}

double student_t_two_sided(double t, double dof) {
  TARE_CHECK(dof > 0 && !std::isnan(t), "student_t_two_sided: t ", t, ", ", dof, " degrees of freedom");
  if (std::isinf(t)) return 0;
  return incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
}

WelchTest welch_test(const std::vector<double>& a, const std::vector<double>& b) {
  WelchTest test;
  if (a.size() < 2 || b.size() < 2)
    test.missing = "too few samples";
  else if (!all_finite(a) || !all_finite(b))
    test.missing = "diverged";
  if (!test.missing.empty()) return test;
  const double na = double(a.size()), nb = double(b.size());
  const double va = std::pow(standard_deviation(a), 2) / na, vb = std::pow(standard_deviation(b), 2) / nb;
  if (va + vb == 0) {
    test.missing = mean(a) == mean(b) ? "equal" : "no spread to test against";
    return test;
  }
  test.t = (mean(b) - mean(a)) / std::sqrt(va + vb);
  test.dof = (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1));
  test.p = student_t_two_sided(test.t, test.dof);
  return test;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double greatest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    greatest = std::max(greatest, std::min(1.0, p[order[rank]] * double(p.size() - rank)));
    adjusted[order[rank]] = greatest;
  }
  return adjusted;
}

std::vector<double> batch_means(const std::vector<double>& values) {
  constexpr size_t kLeast = 8, kMostBatches = 10, kPerBatch = 4;
  if (values.size() < kLeast) return {};
  const size_t batches = std::min(kMostBatches, values.size() / kPerBatch);
  std::vector<double> means;
  for (size_t i = 0; i < batches; ++i) {
    const auto first = values.begin() + std::ptrdiff_t(values.size() * i / batches);
    const auto last = values.begin() + std::ptrdiff_t(values.size() * (i + 1) / batches);
    means.push_back(mean({first, last}));
  }
  return means;
}

}  // namespace tare::bench
