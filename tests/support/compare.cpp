// SPDX-License-Identifier: Apache-2.0
#include "tests/support/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tare::test {
namespace {

bool is_special(double x) { return !std::isfinite(x); }

bool same_special(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

// What the dtype stores for values beyond its range.
double in_range(double want, DType dtype) {
  if (!is_floating(dtype) || is_special(want)) return want;
  // Values up to half a unit above the largest finite one round down to it.
  const double limit = max_finite_of(dtype) * (1 + epsilon_of(dtype) / 4);
  if (dtype == DType::f64 || std::fabs(want) < limit) return want;
  return std::copysign(std::numeric_limits<double>::infinity(), want);
}

Values all_values(const Tensor& t) { return t.to_vector<double>(); }

}  // namespace

double rms(const Values& values) {
  double total = 0, count = 0;
  for (double v : values) {
    if (is_special(v)) continue;
    total += v * v;
    ++count;
  }
  return count > 0 ? std::sqrt(total / count) : 0;
}

double relative_l2(const Values& a, const Values& b) {
  TARE_CHECK(a.size() == b.size(), "relative_l2: ", a.size(), " and ", b.size(), " values");
  double off = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return off == 0 ? 0 : std::sqrt(off / size);
}

double relative_l2(const Tensor& a, const Tensor& b) { return relative_l2(all_values(a), all_values(b)); }

Difference difference(const Values& got, const Values& want, DType dtype) {
  TARE_CHECK(got.size() == want.size(), "difference: ", got.size(), " values, wanted ", want.size());
  Difference d;
  const double typical = std::max(rms(want), min_normal_of(dtype));
  // An integer must be equal: any difference counts as infinitely many units.
  const double eps = epsilon_of(dtype);
  double off = 0, count = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double wanted = in_range(want[i], dtype);
    if (is_special(wanted) || is_special(got[i])) {
      if (same_special(got[i], wanted) || !d.special_agree) continue;
      d.special_agree = false;
      d.worst = int64_t(i);
      continue;
    }
    const double error = std::fabs(got[i] - wanted);
    const double units = error == 0 ? 0 : error / (eps * std::max(std::fabs(wanted), typical));
    off += error * error;
    ++count;
    if (units > d.max_units && d.special_agree) d.worst = int64_t(i);
    d.max_units = std::max(d.max_units, units);
  }
  d.rms_units = off == 0 ? 0 : std::sqrt(off / count) / (eps * typical);
  return d;
}

::testing::AssertionResult is_close(const Values& got, const Values& want, DType dtype, Tolerance tolerance) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << got.size() << " values, wanted " << want.size();
  }
  const Difference d = difference(got, want, dtype);
  if (d.special_agree && d.max_units <= tolerance.max_units && d.rms_units <= tolerance.rms_units) {
    return ::testing::AssertionSuccess();
  }
  auto failure = ::testing::AssertionFailure();
  if (!d.special_agree) failure << "NaN or infinity differs; ";
  failure << name_of(dtype) << ": largest error " << d.max_units << " units (allowed " << tolerance.max_units
          << "), rms " << d.rms_units << " (allowed " << tolerance.rms_units << ")";
  if (d.worst >= 0) {
    const auto i = size_t(d.worst);
    failure << "; element " << i << " of " << got.size() << " is " << got[i] << ", wanted " << want[i];
  }
  return failure;
}

::testing::AssertionResult is_close(const Tensor& got, const Values& want, Tolerance tolerance) {
  return is_close(all_values(got), want, got.dtype(), tolerance);
}

::testing::AssertionResult is_close(const Tensor& got, const Values& want) {
  return is_close(got, want, tolerance(got.dtype()));
}

::testing::AssertionResult notices_spoiling(const Values& want, DType dtype, Tolerance tolerance) {
  Values clean = want;
  for (double& v : clean) v = in_range(v, dtype);
  const double size = rms(clean);
  if (size > 0 && is_floating(dtype)) {
    Values scaled = clean;
    for (double& v : scaled) v *= 1 + noticed_scaling(dtype);
    if (is_close(scaled, want, dtype, tolerance)) {
      return ::testing::AssertionFailure()
             << "a result scaled by " << 1 + noticed_scaling(dtype) << " would pass";
    }
  }
  for (size_t k = 0; k < clean.size(); ++k) {
    const size_t i = (clean.size() / 2 + k) % clean.size();
    if (is_special(clean[i])) continue;
    Values one_off = clean;
    one_off[i] += size > 0 && is_floating(dtype) ? size : 1;
    if (is_close(one_off, want, dtype, tolerance)) {
      return ::testing::AssertionFailure() << "element " << i << " off by " << size << " would pass";
    }
    break;
  }
  return ::testing::AssertionSuccess();
}

void expect_close(const Tensor& got, const Values& want, Tolerance tolerance) {
  EXPECT_TRUE(is_close(got, want, tolerance));
  EXPECT_TRUE(notices_spoiling(want, got.dtype(), tolerance));
}

void expect_close(const Tensor& got, const Values& want) { expect_close(got, want, tolerance(got.dtype())); }

::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    return ::testing::AssertionFailure() << a.dtype() << a.shape() << " and " << b.dtype() << b.shape();
  }
  const Tensor x = a.contiguous(), y = b.contiguous();
  const auto* p = static_cast<const unsigned char*>(x.raw());
  const auto* q = static_cast<const unsigned char*>(y.raw());
  const int64_t width = size_of(a.dtype());
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (std::memcmp(p + i * width, q + i * width, size_t(width)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << ": " << x.to_vector<double>()[size_t(i)]
                                           << " and " << y.to_vector<double>()[size_t(i)];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tare::test
