// SPDX-License-Identifier: Apache-2.0
// Reference elementwise functions and their derivatives, and tables of them by name.
// T is float, double, long double or std::complex<double> (for the complex step, Squire & Trapp 1998).
#pragma once

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

inline constexpr double kPi = 3.14159265358979323846;

template <typename T> double real_part(const T& x) {
  if constexpr (requires { x.real(); }) {
    return static_cast<double>(x.real());
  } else {
    return static_cast<double>(x);
  }
}

// erf for a complex argument near the real axis: one Taylor step in the imaginary part, exact for the 1e-50
// in use.
inline std::complex<double> erf_of(std::complex<double> z) {
  const double slope = 2 / std::sqrt(kPi) * std::exp(-z.real() * z.real());
  return {std::erf(z.real()), slope * z.imag()};
}
template <typename T> T erf_of(T x) { return std::erf(x); }

template <typename T> T sigmoid(T x) {
  using std::exp;
  // Either form is exact; the one whose exponential stays below 1 does not overflow.
  if (real_part(x) < 0) return exp(x) / (T(1) + exp(x));
  return T(1) / (T(1) + exp(-x));
}
template <typename T> T sigmoid_grad(T x) { return sigmoid(x) * sigmoid(-x); }

template <typename T> T silu(T x) { return x * sigmoid(x); }
template <typename T> T silu_grad(T x) { return sigmoid(x) + x * sigmoid_grad(x); }

// x * Phi(x) (Hendrycks & Gimpel 2016). erfc keeps the digits of the far left tail, which 1 + erf loses.
inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
inline std::complex<double> gelu_erf(std::complex<double> x) {
  return 0.5 * x * (1.0 + erf_of(x / std::sqrt(2.0)));
}
inline double gelu_erf_grad(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * kPi);
}

// 0.5 x (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): the second form keeps the left
// tail.
template <typename T> T gelu_tanh(T x) {
  const T u = T(std::sqrt(2.0 / kPi)) * (x + T(0.044715) * x * x * x);
  return x * sigmoid(T(2) * u);
}
template <typename T> T gelu_tanh_grad(T x) {
  const T u = T(std::sqrt(2.0 / kPi)) * (x + T(0.044715) * x * x * x);
  const T du = T(std::sqrt(2.0 / kPi)) * (T(1) + T(3 * 0.044715) * x * x);
  return sigmoid(T(2) * u) + x * sigmoid_grad(T(2) * u) * T(2) * du;
}

// One differentiable function of one variable; it is tested on [low, high].
struct UnaryRef {
  std::string name;
  std::function<double(double)> f, df;
  double low, high;
};

inline const std::vector<UnaryRef>& unary_refs() {
  static const std::vector<UnaryRef> table = {
      {"neg", [](double x) { return -x; }, [](double) { return -1.0; }, -10, 10},
      {"abs", [](double x) { return std::fabs(x); }, [](double x) { return double(x > 0) - double(x < 0); },
       -9, 9},
      {"exp", [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }, -10, 10},
      {"log", [](double x) { return std::log(x); }, [](double x) { return 1 / x; }, 1e-3, 100},
      {"sqrt", [](double x) { return std::sqrt(x); }, [](double x) { return 0.5 / std::sqrt(x); }, 1e-3, 100},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, [](double x) { return -0.5 * std::pow(x, -1.5); },
       1e-2, 100},
      {"reciprocal", [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }, 0.05, 20},
      {"square", [](double x) { return x * x; }, [](double x) { return 2 * x; }, -10, 10},
      {"sin", [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); }, -10, 10},
      {"cos", [](double x) { return std::cos(x); }, [](double x) { return -std::sin(x); }, -10, 10},
      {"tanh", [](double x) { return std::tanh(x); }, [](double x) { return std::pow(std::cosh(x), -2.0); },
       -8, 8},
      {"sigmoid", sigmoid<double>, sigmoid_grad<double>, -15, 15},
      {"relu", [](double x) { return x > 0 ? x : 0.0; }, [](double x) { return x > 0 ? 1.0 : 0.0; }, -10, 10},
      {"silu", silu<double>, silu_grad<double>, -15, 15},
      {"gelu_erf", [](double x) { return gelu_erf(x); }, gelu_erf_grad, -8, 8},
      {"gelu_tanh", gelu_tanh<double>, gelu_tanh_grad<double>, -8, 8},
  };
  return table;
}

// One function of two variables with both partial derivatives; b is kept within [b_low, b_high], a within
// [-5, 5] (or [0.1, 5] where a_positive). At a tie, maximum and minimum give half of the gradient to each
// side.
struct BinaryRef {
  std::string name;
  std::function<double(double, double)> f, da, db;
  double b_low, b_high;
  bool a_positive;
};

inline const std::vector<BinaryRef>& binary_refs() {
  const auto larger = [](double a, double b) { return a > b ? 1.0 : (a == b ? 0.5 : 0.0); };
  static const std::vector<BinaryRef> table = {
      {"add", [](double a, double b) { return a + b; }, [](double, double) { return 1.0; },
       [](double, double) { return 1.0; }, -5, 5, false},
      {"sub", [](double a, double b) { return a - b; }, [](double, double) { return 1.0; },
       [](double, double) { return -1.0; }, -5, 5, false},
      {"mul", [](double a, double b) { return a * b; }, [](double, double b) { return b; },
       [](double a, double) { return a; }, -5, 5, false},
      {"div", [](double a, double b) { return a / b; }, [](double, double b) { return 1 / b; },
       [](double a, double b) { return -a / (b * b); }, 0.2, 5, false},
      {"pow", [](double a, double b) { return std::pow(a, b); },
       [](double a, double b) { return b * std::pow(a, b - 1); },
       [](double a, double b) { return std::pow(a, b) * std::log(a); }, -3, 3, true},
      {"maximum", [](double a, double b) { return a > b ? a : b; }, larger,
       [larger](double a, double b) { return larger(b, a); }, -5, 5, false},
      {"minimum", [](double a, double b) { return a < b ? a : b; },
       [larger](double a, double b) { return larger(b, a); }, larger, -5, 5, false},
  };
  return table;
}

inline const UnaryRef& unary_ref(const std::string& name) {
  for (const UnaryRef& r : unary_refs()) {
    if (r.name == name) return r;
  }
  throw std::invalid_argument("ref: no unary function " + name);
}

inline const BinaryRef& binary_ref(const std::string& name) {
  for (const BinaryRef& r : binary_refs()) {
    if (r.name == name) return r;
  }
  throw std::invalid_argument("ref: no binary function " + name);
}

// y = f(a, b) with NumPy broadcasting; the result has shape broadcast_shape(a, b).
template <typename T, typename F>
auto map2(const std::vector<T>& a, const Shape& a_shape, const std::vector<T>& b, const Shape& b_shape, F f) {
  const Shape shape = broadcast_shape(a_shape, b_shape);
  const std::vector<T> wide_a = broadcast_to(a, a_shape, shape), wide_b = broadcast_to(b, b_shape, shape);
  std::vector<decltype(f(T(), T()))> y;
  y.reserve(wide_a.size());
  for (size_t i = 0; i < wide_a.size(); ++i) y.push_back(f(wide_a[i], wide_b[i]));
  return y;
}

// At a bound the gradient is a choice (PyTorch's versions differ): 1, as inside.
template <typename T> T clamp(T x, T low, T high) { return x < low ? low : (x > high ? high : x); }
template <typename T> T clamp_grad(T x, T low, T high) { return x >= low && x <= high ? T(1) : T(0); }

}  // namespace tare::ref
