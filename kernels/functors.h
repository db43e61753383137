// SPDX-License-Identifier: Apache-2.0
// Elementwise operations as functors. Unary: y = forward(x), dx = backward(x, y, dy). Binary: y = forward(a,
// b), da = backward_a(a, b, dy), db = backward_b(a, b, dy). T is float, double, an integer where it makes
// sense, or a complex type of the tests.
#pragma once

#include "tare/kernels/math.h"

namespace tare::math {

// What a backward reads, and so what the tape has to save.
enum class Needs : uint8_t { nothing = 0, x = 1, y = 2 };

// The names of an op and of its kernels in profiles, and the arithmetic operations of one forward().
#define TARE_FUNCTOR(name, flops)                            \
  static constexpr const char* kName = name;                 \
  static constexpr const char* kForward = name "_forward";   \
  static constexpr const char* kBackward = name "_backward"; \
  static constexpr int kFlops = flops

// x cut to [-limit, limit]; NaN stays NaN. For slopes that are constant beyond: 0 times infinity is not
// formed.
template <class T> TARE_HD T within(T x, double limit) {
  const T raised = x < T(-limit) ? T(-limit) : x;
  return raised > T(limit) ? T(limit) : raised;
}

// ---- unary

struct Neg {
  TARE_FUNCTOR("neg", 1);
  static constexpr Needs kNeeds = Needs::nothing;
  template <class T> TARE_HD T forward(T x) const { return -x; }
  template <class T> TARE_HD T backward(T, T, T dy) const { return -dy; }
};

struct Abs {
  TARE_FUNCTOR("abs", 1);
  static constexpr Needs kNeeds = Needs::x;
  template <class T> TARE_HD T forward(T x) const { return abs(x); }
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    const T negative = x < T(0) ? -dy : T(0);
    return x > T(0) ? dy : negative;
  }
};

struct Square {
  TARE_FUNCTOR("square", 1);
  static constexpr Needs kNeeds = Needs::x;
  template <class T> TARE_HD T forward(T x) const { return x * x; }
  template <class T> TARE_HD T backward(T x, T, T dy) const { return T(2) * x * dy; }
};

struct Reciprocal {
  TARE_FUNCTOR("reciprocal", 1);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return T(1) / x; }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return -dy * y * y; }
};

struct Exp {
  TARE_FUNCTOR("exp", 18);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return exp(x); }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return dy * y; }
};

struct Log {
  TARE_FUNCTOR("log", 22);
  static constexpr Needs kNeeds = Needs::x;
  template <class T> TARE_HD T forward(T x) const { return log(x); }
  template <class T> TARE_HD T backward(T x, T, T dy) const { return dy / x; }
};

struct Sqrt {
  TARE_FUNCTOR("sqrt", 1);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return sqrt(x); }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return T(0.5) * dy / y; }
};

struct Rsqrt {
  TARE_FUNCTOR("rsqrt", 2);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return T(1) / sqrt(x); }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return T(-0.5) * dy * (y * y * y); }
};

struct Tanh {
  TARE_FUNCTOR("tanh", 32);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return tanh(x); }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return dy * (T(1) - y * y); }
};

struct Erf {
  TARE_FUNCTOR("erf", 60);
  static constexpr Needs kNeeds = Needs::x;
  template <class T> TARE_HD T forward(T x) const { return erf(x); }
  // 2 / sqrt(pi) e^(-x^2)
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    return dy * T(1.1283791670955126) * gaussian(T(1.4142135623730951) * x);
  }
};

struct Sigmoid {
  TARE_FUNCTOR("sigmoid", 21);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return sigmoid(x); }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return dy * y * (T(1) - y); }
};

// max(x, 0); NaN stays NaN.
struct Relu {
  TARE_FUNCTOR("relu", 1);
  static constexpr Needs kNeeds = Needs::y;
  template <class T> TARE_HD T forward(T x) const { return x < T(0) ? T(0) : x; }
  template <class T> TARE_HD T backward(T, T y, T dy) const { return y <= T(0) ? T(0) : dy; }
};

// x sigmoid(x) (Elfwing et al. 2017)
struct Silu {
  TARE_FUNCTOR("silu", 21);
  static constexpr Needs kNeeds = Needs::x;
  template <class T> TARE_HD T forward(T x) const { return x / (T(1) + exp(-x)); }
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    const SigmoidWithSlope<T> s = sigmoid_with_slope(x);
    return dy * (s.value + within(x, 750) * s.slope);  // e^-750 is 0 in f64
  }
};

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks and Gimpel 2016; GPT-2's)
struct GeluTanh {
  TARE_FUNCTOR("gelu_tanh", 25);
  static constexpr Needs kNeeds = Needs::x;
  static constexpr double kLinear = 1.5957691216057308, kCubic = kLinear * 0.044715;  // 2u = x (l + c x^2)
  template <class T> TARE_HD T forward(T x) const {
    return x / (T(1) + exp(-x * (T(kLinear) + T(kCubic) * x * x)));
  }
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    const T v = within(x, 50);  // keeps x^3 finite
    const SigmoidWithSlope<T> s = sigmoid_with_slope(v * (T(kLinear) + T(kCubic) * v * v));
    return dy * (s.value + v * s.slope * (T(kLinear) + T(3 * kCubic) * v * v));
  }
};

// x Phi(x) (Hendrycks and Gimpel 2016)
struct GeluErf {
  TARE_FUNCTOR("gelu_erf", 60);
  static constexpr Needs kNeeds = Needs::x;
  template <class T> TARE_HD T forward(T x) const { return x * normal_cdf(x); }
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    const T v = within(x, 40);  // e^-800 is 0 in f64
    return dy * (normal_cdf(x) + v * T(0.3989422804014327) * gaussian(x));
  }
};

// x^exponent
struct PowScalar {
  TARE_FUNCTOR("pow_scalar", 60);
  static constexpr Needs kNeeds = Needs::x;
  double exponent = 1;
  template <class T> TARE_HD T forward(T x) const { return pow(x, T(exponent)); }
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    return exponent == 0 ? T(0) : dy * T(exponent) * pow(x, T(exponent - 1));
  }
};

// min(max(x, low), high); NaN stays NaN. The gradient passes on the closed interval.
struct Clamp {
  TARE_FUNCTOR("clamp", 2);
  static constexpr Needs kNeeds = Needs::x;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  template <class T> TARE_HD T forward(T x) const {
    const T raised = x < T(low) ? T(low) : x;
    return raised > T(high) ? T(high) : raised;
  }
  template <class T> TARE_HD T backward(T x, T, T dy) const {
    const T below_high = x <= T(high) ? dy : T(0);
    return x >= T(low) ? below_high : T(0);
  }
};

// With a number: x + s, x s, x / s, s - x, s / x.
struct AddScalar {
  TARE_FUNCTOR("add_scalar", 1);
  static constexpr Needs kNeeds = Needs::nothing;
  double s = 0;
  template <class T> TARE_HD T forward(T x) const { return x + T(s); }
  template <class T> TARE_HD T backward(T, T, T dy) const { return dy; }
};

struct MulScalar {
  TARE_FUNCTOR("mul_scalar", 1);
  static constexpr Needs kNeeds = Needs::nothing;
  double s = 1;
  template <class T> TARE_HD T forward(T x) const { return x * T(s); }
  template <class T> TARE_HD T backward(T, T, T dy) const { return dy * T(s); }
};

struct DivScalar {
  TARE_FUNCTOR("div_scalar", 1);
  static constexpr Needs kNeeds = Needs::nothing;
  double s = 1;
  template <class T> TARE_HD T forward(T x) const { return x / T(s); }
  template <class T> TARE_HD T backward(T, T, T dy) const { return dy / T(s); }
};

struct ScalarSub {
  TARE_FUNCTOR("scalar_sub", 1);
  static constexpr Needs kNeeds = Needs::nothing;
  double s = 0;
  template <class T> TARE_HD T forward(T x) const { return T(s) - x; }
  template <class T> TARE_HD T backward(T, T, T dy) const { return -dy; }
};

struct ScalarDiv {
  TARE_FUNCTOR("scalar_div", 1);
  static constexpr Needs kNeeds = Needs::x;
  double s = 1;
  template <class T> TARE_HD T forward(T x) const { return T(s) / x; }
  template <class T> TARE_HD T backward(T x, T, T dy) const { return -dy * T(s) / (x * x); }
};

// ---- binary; kANeeds and kBNeeds say whether backward_a and backward_b read a and b

struct Reads {
  bool a, b;
};

struct Add {
  TARE_FUNCTOR("add", 1);
  static constexpr Reads kANeeds{false, false}, kBNeeds{false, false};
  template <class T> TARE_HD T forward(T a, T b) const { return a + b; }
  template <class T> TARE_HD T backward_a(T, T, T dy) const { return dy; }
  template <class T> TARE_HD T backward_b(T, T, T dy) const { return dy; }
};

struct Sub {
  TARE_FUNCTOR("sub", 1);
  static constexpr Reads kANeeds{false, false}, kBNeeds{false, false};
  template <class T> TARE_HD T forward(T a, T b) const { return a - b; }
  template <class T> TARE_HD T backward_a(T, T, T dy) const { return dy; }
  template <class T> TARE_HD T backward_b(T, T, T dy) const { return -dy; }
};

struct Mul {
  TARE_FUNCTOR("mul", 1);
  static constexpr Reads kANeeds{false, true}, kBNeeds{true, false};
  template <class T> TARE_HD T forward(T a, T b) const { return a * b; }
  template <class T> TARE_HD T backward_a(T, T b, T dy) const { return dy * b; }
  template <class T> TARE_HD T backward_b(T a, T, T dy) const { return dy * a; }
};

struct Div {
  TARE_FUNCTOR("div", 1);
  static constexpr Reads kANeeds{false, true}, kBNeeds{true, true};
  template <class T> TARE_HD T forward(T a, T b) const { return a / b; }
  template <class T> TARE_HD T backward_a(T, T b, T dy) const { return dy / b; }
  template <class T> TARE_HD T backward_b(T a, T b, T dy) const { return -dy * (a / b) / b; }
};

// a^b
struct Pow {
  TARE_FUNCTOR("pow", 60);
  static constexpr Reads kANeeds{true, true}, kBNeeds{true, true};
  template <class T> TARE_HD T forward(T a, T b) const { return pow(a, b); }
  template <class T> TARE_HD T backward_a(T a, T b, T dy) const {
    return b == T(0) ? T(0) : dy * b * pow(a, b - T(1));
  }
  // 0 where the power is 0: the limit for b > 0. 0 at 0^0 too, as in PyTorch: a^b is 1 at b = 0, 0 above.
  template <class T> TARE_HD T backward_b(T a, T b, T dy) const {
    const T y = pow(a, b);
    const T at_zero = b == T(0) ? T(0) : y;
    const T power = a == T(0) ? at_zero : y;
    return power == T(0) ? T(0) : dy * power * log(a);
  }
};

// NaN in either operand gives NaN; a tie shares the gradient evenly.
struct Maximum {
  TARE_FUNCTOR("maximum", 1);
  static constexpr Reads kANeeds{true, true}, kBNeeds{true, true};
  template <class T> TARE_HD T forward(T a, T b) const {
    const T larger = a > b ? a : b;
    return a == a ? larger : a;
  }
  template <class T> TARE_HD T backward_a(T a, T b, T dy) const {
    const T shared = a == b ? T(0.5) * dy : T(0);
    return a > b ? dy : shared;
  }
  template <class T> TARE_HD T backward_b(T a, T b, T dy) const { return backward_a(b, a, dy); }
};

struct Minimum {
  TARE_FUNCTOR("minimum", 1);
  static constexpr Reads kANeeds{true, true}, kBNeeds{true, true};
  template <class T> TARE_HD T forward(T a, T b) const {
    const T smaller = a < b ? a : b;
    return a == a ? smaller : a;
  }
  template <class T> TARE_HD T backward_a(T a, T b, T dy) const {
    const T shared = a == b ? T(0.5) * dy : T(0);
    return a < b ? dy : shared;
  }
  template <class T> TARE_HD T backward_b(T a, T b, T dy) const { return backward_a(b, a, dy); }
};

// Which binary functors make sense on integers.
template <class F> inline constexpr bool kOnIntegers = false;
template <> inline constexpr bool kOnIntegers<Add> = true;
template <> inline constexpr bool kOnIntegers<Sub> = true;
template <> inline constexpr bool kOnIntegers<Mul> = true;
template <> inline constexpr bool kOnIntegers<Maximum> = true;
template <> inline constexpr bool kOnIntegers<Minimum> = true;

// ---- comparisons, false where an operand is NaN (not_equal: true)

#define TARE_COMPARISON(Type, name, op)                                        \
  struct Type {                                                                \
    TARE_FUNCTOR(name, 1);                                                     \
    template <class T> TARE_HD bool forward(T a, T b) const { return a op b; } \
  }
TARE_COMPARISON(Equal, "equal", ==);
TARE_COMPARISON(NotEqual, "not_equal", !=);
TARE_COMPARISON(Less, "less", <);
TARE_COMPARISON(LessEqual, "less_equal", <=);
TARE_COMPARISON(Greater, "greater", >);
TARE_COMPARISON(GreaterEqual, "greater_equal", >=);
#undef TARE_COMPARISON

}  // namespace tare::math
