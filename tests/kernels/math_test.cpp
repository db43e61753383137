// SPDX-License-Identifier: Apache-2.0
// Accuracy of the float functions of kernels/math.h, in units in the last place, as the kernels compute them
// with each instruction set: over samples of all floats, and at special values.
#include "tare/kernels/math.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tare/core/isa.h"
#include "tare/kernels/elementwise.h"

#include "tests/support/op_case.h"
#include "tests/support/test_data.h"

namespace tare::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMinNormal = std::numeric_limits<float>::min();

class EachIsa : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    before_ = active_isa();
    if (GetParam() > best_isa()) GTEST_SKIP() << "this processor lacks " << name_of(GetParam());
    set_active_isa(GetParam());
  }
  void TearDown() override { set_active_isa(before_); }

 private:
  Isa before_ = Isa::base;
};

// Floats whose bit patterns are spread evenly over all of them (negative ones too), NaN left out.
std::vector<float> sample_of_all_floats() {
  const uint64_t step = all_cases() ? 61 : 2003;
  std::vector<float> samples;
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += step) {
    const auto pattern = uint32_t(bits);
    float x;
    std::memcpy(&x, &pattern, sizeof x);
    if (!std::isnan(x)) samples.push_back(x);
  }
  return samples;
}

std::vector<float> even_sample(double low, double high, int n) {
  std::vector<float> samples;
  for (int i = 0; i < n; ++i) samples.push_back(float(low + (high - low) * i / (n - 1)));
  return samples;
}

// Error of y in ulp of a float near `want`. Results below the normal range may be flushed to 0.
double ulps(float y, double want) {
  if (std::isnan(want)) return std::isnan(y) ? 0 : kInf;
  const double limit = std::numeric_limits<float>::max() * (1 + 0x1p-25);
  if (std::fabs(want) > limit) return double(y) == std::copysign(kInf, want) ? 0 : kInf;
  if (std::fabs(want) < kMinNormal) return std::fabs(double(y) - want) <= 1.0001 * kMinNormal ? 0 : kInf;
  const double unit = std::ldexp(1.0, std::ilogb(want) - 23);
  const double error = std::fabs(double(y) - want) / unit;
  return std::isnan(error) ? kInf : error;
}

template <class F> std::vector<float> apply(const std::vector<float>& x, F f = {}) {
  const Tensor in = Tensor::from_vector(x, {int64_t(x.size())});
  Tensor out = Tensor::empty_like(in);
  kernels::unary_forward(in, out, f);
  return out.to_vector<float>();
}

template <class F>
void expect_within(double allowed, const std::vector<float>& x, double (*reference)(double), F f = {}) {
  const std::vector<float> y = apply(x, f);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = ulps(y[i], reference(double(x[i])));
    if (error > worst) worst = error, at = i;
  }
  EXPECT_LE(worst, allowed) << F::kName << "(" << x[at] << ") = " << y[at] << ", wanted "
                            << reference(double(x[at]));
  ::testing::Test::RecordProperty(std::string(F::kName) + "_max_ulps", std::to_string(worst));
}

double reciprocal_root(double x) { return 1 / std::sqrt(x); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double swish(double x) { return x / (1 + std::exp(-x)); }
double gelu_exact(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_approximate(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST_P(EachIsa, functions_are_accurate_over_all_floats) {
  const std::vector<float> x = sample_of_all_floats();
  expect_within<math::Exp>(1.1, x, std::exp);
  expect_within<math::Log>(1.1, x, std::log);
  expect_within<math::Sqrt>(0.51, x, std::sqrt);
  expect_within<math::Rsqrt>(1.6, x, reciprocal_root);
  expect_within<math::Tanh>(2, x, std::tanh);
  expect_within<math::Erf>(2, x, std::erf);
  expect_within<math::Sigmoid>(2.6, x, logistic);
}

TEST_P(EachIsa, functions_are_accurate_where_activations_lie) {
  const std::vector<float> x = even_sample(-20, 20, 400001);
  expect_within<math::Exp>(1.1, x, std::exp);
  expect_within<math::Tanh>(2, x, std::tanh);
  expect_within<math::Erf>(2, x, std::erf);
  expect_within<math::Sigmoid>(2.6, x, logistic);
  expect_within<math::Silu>(3, x, swish);
  expect_within<math::GeluErf>(9, x, gelu_exact);
  expect_within<math::Log>(1.1, even_sample(0.5, 2, 400001), std::log);
  // The rounding of 2u, up to 0.5 ulp of 87, is an error of the exponential in the far left tail.
  expect_within<math::GeluTanh>(240, even_sample(-10, 20, 400001), gelu_approximate);
  expect_within<math::GeluTanh>(12, even_sample(-2, 20, 400001), gelu_approximate);
}

TEST_P(EachIsa, power_is_accurate) {
  std::vector<float> a, b;
  uint64_t state = 1;
  for (int i = 0; i < 400000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double u = double(state >> 40) * 0x1p-24, v = double((state >> 16) & 0xffffff) * 0x1p-24;
    a.push_back(float(std::exp2(40 * u - 20)));
    b.push_back(float(12 * v - 6));
  }
  const Tensor ta = Tensor::from_vector(a, {int64_t(a.size())}), tb = Tensor::from_vector(b, ta.shape());
  Tensor y = Tensor::empty_like(ta);
  kernels::binary_forward<math::Pow>(ta, tb, y);
  const std::vector<float> got = y.to_vector<float>();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, ulps(got[i], std::pow(double(a[i]), double(b[i]))));
  EXPECT_LE(worst, 0.52);
}

TEST_P(EachIsa, power_has_the_special_values_of_the_standard) {
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> values = {0.0f, -0.0f, 1,   -1,  2,    -2,     0.5f,  -0.5f,  3,        -3,
                                     inf,  -inf,  nan, 7.5, -7.5, 1e-40f, 3e38f, -3e38f, 16777216, 1e10f};
  std::vector<float> a, b;
  for (const float x : values)
    for (const float y : values) a.push_back(x), b.push_back(y);
  const Tensor ta = Tensor::from_vector(a, {int64_t(a.size())}), tb = Tensor::from_vector(b, ta.shape());
  Tensor y = Tensor::empty_like(ta);
  kernels::binary_forward<math::Pow>(ta, tb, y);
  const std::vector<float> got = y.to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    const float want = std::pow(a[i], b[i]);
    const bool same = std::isnan(want)
                          ? std::isnan(got[i])
                          : std::fabs(got[i] - want) <= 1e-6f * std::fabs(want) || got[i] == want;
    EXPECT_TRUE(same && (std::isnan(want) || std::signbit(want) == std::signbit(got[i])))
        << a[i] << " ^ " << b[i] << " = " << got[i] << ", wanted " << want;
  }
}

TEST_P(EachIsa, special_values_are_those_of_the_standard) {
  const float inf = INFINITY, nan = NAN, tiny = 1e-45f, max = std::numeric_limits<float>::max();
  const std::vector<float> x = {nan, inf, -inf, 0.0f, -0.0f, tiny, -tiny, max, -max};
  const auto is = [&](const std::vector<float>& got, const std::vector<float>& want, const char* name) {
    for (size_t i = 0; i < x.size(); ++i) {
      const bool same = std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i];
      EXPECT_TRUE(same) << name << "(" << x[i] << ") = " << got[i] << ", wanted " << want[i];
    }
  };
  is(apply<math::Exp>(x), {nan, inf, 0, 1, 1, 1, 1, inf, 0}, "exp");
  is(apply<math::Log>(x), {nan, inf, nan, -inf, -inf, std::log(tiny), nan, std::log(max), nan}, "log");
  is(apply<math::Sqrt>(x), {nan, inf, nan, 0, 0, std::sqrt(tiny), nan, std::sqrt(max), nan}, "sqrt");
  is(apply<math::Tanh>(x), {nan, 1, -1, 0, 0, tiny, -tiny, 1, -1}, "tanh");
  is(apply<math::Erf>(x), {nan, 1, -1, 0, 0, tiny, -tiny, 1, -1}, "erf");
  is(apply<math::Sigmoid>(x), {nan, 1, 0, 0.5f, 0.5f, 0.5f, 0.5f, 1, 0}, "sigmoid");
  is(apply<math::Relu>(x), {nan, inf, 0, 0, 0, tiny, 0, max, 0}, "relu");
  is(apply<math::Abs>(x), {nan, inf, inf, 0, 0, tiny, tiny, max, max}, "abs");
  is(apply<math::GeluErf>(x), {nan, inf, nan, 0, 0, 0, 0, max, 0}, "gelu_erf");
  is(apply<math::GeluTanh>(x), {nan, inf, nan, 0, 0, 0, 0, max, 0}, "gelu_tanh");
  is(apply(x, math::Clamp{-1, 2}), {nan, 2, -1, 0, 0, tiny, -tiny, 2, -1}, "clamp");
}

TEST_P(EachIsa, exp_is_right_at_the_ends_of_its_range) {
  // The last float below ln(FLT_MAX), the first above, the last whose result is normal.
  const std::vector<float> y =
      apply<math::Exp>({88.7228317f, 88.7228394f, -87.3365402f, -87.3365479f, 88.5f});
  EXPECT_LE(ulps(y[0], std::exp(88.7228317f)), 32);
  EXPECT_LE(ulps(y[0], std::exp(double(88.7228317f))), 1.1);
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_LE(ulps(y[2], std::exp(double(-87.3365402f))), 1.1);
  EXPECT_EQ(y[3], 0);
  EXPECT_LE(ulps(y[4], std::exp(88.5)), 1.1);
}

TEST_P(EachIsa, gradients_of_activations_stay_finite_and_go_to_their_limits) {
  // Twice, so that whole vectors are formed.
  Values x = {-INFINITY, -3e38, -1e20, -800, -100, -40, 40, 100, 800, 1e20, 3e38, INFINITY};
  x.insert(x.end(), x.begin(), x.end());
  for (const DType dtype : kFloating) {
    const Tensor tx = tensor_of(x, {int64_t(x.size())}, dtype);
    const Tensor dy = Tensor::full(tx.shape(), 2, {dtype, kCpu, {}});
    const auto limits = [&]<class F>(F f) {
      Tensor dx = Tensor::empty_like(tx);
      kernels::unary_backward(tx, {}, dy, dx, Accum::set, f);
      const Values g = dx.to_vector<double>();
      for (size_t i = 0; i < g.size(); ++i)
        EXPECT_NEAR(g[i], x[i] > 0 ? 2 : 0, 1e-6) << F::kName << " at " << x[i] << " in " << name_of(dtype);
    };
    limits(math::GeluTanh{});
    limits(math::GeluErf{});
    limits(math::Silu{});
  }
}

TEST_P(EachIsa, gradients_of_activations_keep_nan) {
  const Tensor x = Tensor::full({40}, NAN), dy = Tensor::full({40}, 1);
  const auto keeps = [&]<class F>(F f) {
    Tensor dx = Tensor::empty({40});
    kernels::unary_backward(x, {}, dy, dx, Accum::set, f);
    for (const float g : dx.to_vector<float>()) EXPECT_TRUE(std::isnan(g)) << F::kName;
  };
  keeps(math::GeluTanh{});
  keeps(math::GeluErf{});
  keeps(math::Silu{});
}

TEST_P(EachIsa, the_gradient_of_an_exponent_is_that_of_pytorch_where_the_base_is_zero) {
  const Values a = {0, -0.0, 0, 0, 2, 0, -0.0}, b = {0, 0, -0.0, 2, 0, -1, 0.5};
  const Values want = {0, 0, 0, 0, std::log(2.0), -INFINITY, 0};
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Tensor ta = tensor_of(a, {7}, dtype), tb = tensor_of(b, {7}, dtype);
    const Tensor dy = Tensor::full({7}, 1, {dtype, kCpu, {}});
    Tensor db = Tensor::empty_like(ta);
    kernels::binary_backward<math::Pow>(kernels::Side::b, ta, tb, dy, db, Accum::set);
    const Values got = db.to_vector<double>();
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] || std::fabs(got[i] - want[i]) < 1e-6)
          << a[i] << " ^ " << b[i] << ": " << got[i] << ", wanted " << want[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Math, EachIsa, ::testing::Values(Isa::base, Isa::v3, Isa::v4),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tare::test
