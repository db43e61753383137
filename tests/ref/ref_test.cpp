// SPDX-License-Identifier: Apache-2.0
// The references tested apart from the product: their gradients by the complex step Im f(x + ih) / h, which
// has no cancellation (Squire & Trapp 1998), and a few numbers known from elsewhere.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/ref/attention.h"
#include "tests/ref/cross_entropy.h"
#include "tests/ref/elementwise.h"
#include "tests/ref/embedding.h"
#include "tests/ref/matmul.h"
#include "tests/ref/norm.h"
#include "tests/ref/optim.h"
#include "tests/ref/reduce.h"
#include "tests/ref/softmax.h"

namespace tare::ref {
namespace {

using C = std::complex<double>;
using Complex = std::vector<C>;

Complex wave(size_t n, double pitch, double scale = 1) {
  Complex x(n);
  for (size_t i = 0; i < n; ++i) x[i] = scale * std::sin(1 + pitch * double(i));
  return x;
}

C dot(const Complex& a, const Complex& b) {
  C total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

// Largest |Im f(.. x_i + ih ..) / h - gradient_i|.
double step_error(const std::function<C()>& f, Complex& x, const Complex& gradient) {
  constexpr double h = 1e-50;
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const C kept = x[i];
    x[i] += C(0, h);
    worst = std::max(worst, std::abs(f().imag() / h - gradient[i].real()));
    x[i] = kept;
  }
  return worst;
}

constexpr double kExact = 1e-13;

TEST(Reference, softmax_gradients_by_complex_step) {
  Complex x = wave(15, 1.7, 3);
  const Complex dy = wave(15, 2.3);
  EXPECT_LT(step_error([&] { return dot(softmax_forward(x, 3, 5), dy); }, x,
                       softmax_backward(softmax_forward(x, 3, 5), dy, 3, 5)),
            kExact);
  EXPECT_LT(step_error([&] { return dot(log_softmax_forward(x, 3, 5), dy); }, x,
                       log_softmax_backward(log_softmax_forward(x, 3, 5), dy, 3, 5)),
            kExact);
}

TEST(Reference, norm_gradients_by_complex_step) {
  Complex x = wave(12, 1.7, 2), weight = wave(4, 0.9), bias = wave(4, 1.3);
  const Complex dy = wave(12, 2.3);
  const NormGrad<C> g = layer_norm_backward(x, weight, dy, 3, 4, 1e-5);
  const auto layer = [&] { return dot(layer_norm_forward(x, weight, bias, 3, 4, 1e-5).y, dy); };
  EXPECT_LT(step_error(layer, x, g.dx), kExact);
  EXPECT_LT(step_error(layer, weight, g.dweight), kExact);
  EXPECT_LT(step_error(layer, bias, g.dbias), kExact);
  const NormGrad<C> r = rms_norm_backward(x, weight, dy, 3, 4, 1e-5);
  const auto root = [&] { return dot(rms_norm_forward(x, weight, 3, 4, 1e-5).y, dy); };
  EXPECT_LT(step_error(root, x, r.dx), kExact);
  EXPECT_LT(step_error(root, weight, r.dweight), kExact);
}

TEST(Reference, linear_gradients_by_complex_step) {
  Complex x = wave(6, 1.1), weight = wave(12, 0.7), bias = wave(4, 0.3);
  const Complex dy = wave(8, 2.3);
  const LinearGrad<C> g = linear_backward(x, weight, dy, 2, 3, 4);
  const auto f = [&] { return dot(linear_forward(x, weight, bias, 2, 3, 4), dy); };
  EXPECT_LT(step_error(f, x, g.dx), kExact);
  EXPECT_LT(step_error(f, weight, g.dweight), kExact);
  EXPECT_LT(step_error(f, bias, g.dbias), kExact);
}

TEST(Reference, attention_gradients_by_complex_step) {
  AttentionShape s{2, 2, 3, 4, 2};
  Complex q = wave(24, 0.7), k = wave(32, 1.1), v = wave(32, 1.9), keep(48, 1.25);
  const Complex dy = wave(24, 2.3);
  for (size_t i = 0; i < keep.size(); i += 5) keep[i] = 0;
  for (bool causal : {false, true}) {
    for (const std::vector<uint8_t>& mask :
         {std::vector<uint8_t>(), std::vector<uint8_t>{1, 1, 0, 1, 0, 0, 0, 0}}) {
      for (const Complex& dropout : {Complex(), keep}) {
        s.causal = causal;
        const AttentionGrad<C> g = attention_backward(q, k, v, dy, s, mask, dropout);
        const auto f = [&] { return dot(attention_forward(q, k, v, s, mask, dropout).y, dy); };
        EXPECT_LT(step_error(f, q, g.dq), kExact);
        EXPECT_LT(step_error(f, k, g.dk), kExact);
        EXPECT_LT(step_error(f, v, g.dv), kExact);
      }
    }
  }
}

TEST(Reference, cross_entropy_gradients_by_complex_step) {
  Complex x = wave(12, 1.1), weight = wave(15, 0.7, 2);
  const std::vector<int64_t> labels = {4, -100, 0, 2};
  for (double smoothing : {0.0, 0.1}) {
    const CrossEntropyOptions o{-100, smoothing};
    const LinearCrossEntropy<C> g = linear_cross_entropy(x, weight, labels, 3, 5, o);
    EXPECT_EQ(g.head.count, 3);
    const auto f = [&] { return linear_cross_entropy(x, weight, labels, 3, 5, o).head.sum; };
    EXPECT_LT(step_error(f, x, g.dx), kExact);
    EXPECT_LT(step_error(f, weight, g.dweight), kExact);
  }
}

TEST(Reference, variance_gradient_by_complex_step) {
  Complex x = wave(24, 1.3, 2);
  const Shape shape{2, 3, 4};
  const Complex dy = wave(6, 2.1);
  const auto f = [&] { return dot(variance(x, shape, {2}, 1), dy); };
  EXPECT_LT(step_error(f, x, variance_grad(x, dy, shape, {2}, 1)), kExact);
}

TEST(Reference, smooth_functions_by_complex_step) {
  constexpr double h = 1e-50;
  for (double x = -6; x <= 6; x += 0.37) {
    const C z(x, h);
    EXPECT_NEAR(silu(z).imag() / h, silu_grad(x), kExact) << x;
    EXPECT_NEAR(sigmoid(z).imag() / h, sigmoid_grad(x), kExact) << x;
    EXPECT_NEAR(gelu_tanh(z).imag() / h, gelu_tanh_grad(x), kExact) << x;
    EXPECT_NEAR(gelu_erf(z).imag() / h, gelu_erf_grad(x), kExact) << x;
  }
}

TEST(Reference, unary_and_binary_derivatives_by_central_difference) {
  for (const UnaryRef& r : unary_refs()) {
    for (int i = 1; i < 40; ++i) {
      const double x = r.low + (r.high - r.low) * (i + 0.3) / 41, h = 1e-5 * std::max(1e-3, std::fabs(x));
      const double numeric = (r.f(x + h) - r.f(x - h)) / (2 * h);
      EXPECT_NEAR(r.df(x), numeric, 2e-7 * std::max(1.0, std::fabs(numeric))) << r.name << ' ' << x;
    }
  }
  for (const BinaryRef& r : binary_refs()) {
    for (int i = 0; i < 40; ++i) {
      const double a = r.a_positive ? 0.2 + 0.11 * i : -4.1 + 0.21 * i, h = 1e-6;
      const double b = r.b_low + (r.b_high - r.b_low) * ((i * 7) % 40 + 0.5) / 41;
      const double da = (r.f(a + h, b) - r.f(a - h, b)) / (2 * h),
                   db = (r.f(a, b + h) - r.f(a, b - h)) / (2 * h);
      EXPECT_NEAR(r.da(a, b), da, 1e-6 * std::max(1.0, std::fabs(da))) << r.name << ' ' << a << ' ' << b;
      EXPECT_NEAR(r.db(a, b), db, 1e-6 * std::max(1.0, std::fabs(db))) << r.name << ' ' << a << ' ' << b;
    }
  }
}

TEST(Reference, broadcasting_follows_numpy) {
  EXPECT_EQ(broadcast_shape({3, 1}, {2, 1, 4}), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast_shape({}, {2}), Shape({2}));
  EXPECT_THROW(broadcast_shape({3}, {2}), std::invalid_argument);
  const std::vector<double> x = {1, 2, 3};
  EXPECT_EQ(broadcast_to(x, {3, 1}, {3, 2}), std::vector<double>({1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(sum_to(std::vector<double>{1, 2, 3, 4, 5, 6}, {3, 2}, {2}), std::vector<double>({9, 12}));
  EXPECT_EQ(permute(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}, {1, 0}),
            std::vector<double>({1, 4, 2, 5, 3, 6}));
}

TEST(Reference, known_numbers) {
  EXPECT_NEAR(gelu_erf(-1.0), -0.15865525, 1e-8);
  EXPECT_NEAR(gelu_tanh(-1.0), -0.15880801, 1e-8);
  std::vector<double> p = {1, -2, 3}, m(3), v(3);
  for (int t = 1; t <= 3; ++t)
    adamw(p, m, v, {0.1 * t, -0.2 * t, 0.3 * t}, t, {.lr = 0.01, .weight_decay = 0.01});
  EXPECT_NEAR(p[0], 0.970471, 1e-6);
  EXPECT_NEAR(p[1], -1.970171, 1e-6);
  EXPECT_NEAR(v[2], 1.25946e-3, 1e-9);
  const CrossEntropy<double> c =
      cross_entropy(std::vector<double>{2, 1, 0, 0, 1, 3}, {0, -100}, 3, CrossEntropyOptions{-100, 0.1});
  EXPECT_NEAR(c.sum / double(c.count), 0.50760591, 1e-7);
}

}  // namespace
}  // namespace tare::ref
