// SPDX-License-Identifier: Apache-2.0
// Gradients of elementwise ops in f64, for every layout of their operands.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/values.h"

namespace tare::test {
namespace {

struct UnaryCase {
  std::string name;
  Var (*op)(const Var&);
  double low, high;
};

// Each op on a range that keeps clear of kinks.
std::vector<UnaryCase> unary_cases() {
  return {{"neg", [](const Var& x) { return -x; }, -3, 3},
          {"abs_negative", abs, -3, -0.1},
          {"abs_positive", abs, 0.1, 3},
          {"square", square, -3, 3},
          {"reciprocal", reciprocal, 0.3, 3},
          {"exp", exp, -3, 3},
          {"log", log, 0.2, 5},
          {"sqrt", sqrt, 0.2, 5},
          {"rsqrt", rsqrt, 0.3, 5},
          {"tanh", tanh, -3, 3},
          {"erf", erf, -3, 3},
          {"sigmoid", sigmoid, -6, 6},
          {"relu_negative", relu, -3, -0.1},
          {"relu_positive", relu, 0.1, 3},
          {"silu", silu, -6, 6},
          {"gelu_tanh", gelu_tanh, -5, 5},
          {"gelu_erf", gelu_erf, -5, 5},
          {"pow_half", [](const Var& x) { return pow(x, 0.5); }, 0.2, 4},
          {"pow_three_of_negative", [](const Var& x) { return pow(x, 3); }, -2, -0.2},
          {"pow_zero", [](const Var& x) { return pow(x, 0); }, -2, 2},
          {"pow_minus", [](const Var& x) { return pow(x, -1.5); }, 0.3, 3},
          {"clamp_inside", [](const Var& x) { return clamp(x, -3, 3); }, -2.9, 2.9},
          {"clamp_above", [](const Var& x) { return clamp(x, -1, 1); }, 1.1, 2},
          {"clamp_below", [](const Var& x) { return clamp(x, -1); }, -3, -1.1},
          {"add_scalar", [](const Var& x) { return 2 + (x + 0.5); }, -3, 3},
          {"sub_scalar", [](const Var& x) { return 2 - (x - 0.5); }, -3, 3},
          {"mul_scalar", [](const Var& x) { return 3 * (x * -0.5); }, -3, 3},
          {"div_scalar", [](const Var& x) { return 3 / (x / 2); }, 0.5, 3}};
}

class UnaryOps : public ::testing::TestWithParam<UnaryCase> {};

TEST_P(UnaryOps, gradients_are_right_for_every_layout) {
  const UnaryCase& c = GetParam();
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 5}, Shape{2, 3, 4}, Shape{0, 3}}) {
    const Tensor x = tensor_of(uniform(c.low, c.high)(shape.numel(), 5), shape, DType::f64);
    for (const Layout layout : kLayouts) {
      EXPECT_EQ(gradcheck([&](const Vars& v) { return c.op(v[0]); }, {with_layout(x, layout)}), "")
          << shape << " " << name_of(layout);
    }
  }
}

TEST_P(UnaryOps, strided_operands_give_the_same_bits) {
  const UnaryCase& c = GetParam();
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = tensor_of(uniform(c.low, c.high)(7 * 130, 6), {7, 130}, dtype);
    for (const Layout layout : kLayouts)
      EXPECT_TRUE(same_bits(c.op(with_layout(x, layout)).value(), c.op(x).value())) << name_of(layout);
  }
}

INSTANTIATE_TEST_SUITE_P(cases, UnaryOps, ::testing::ValuesIn(unary_cases()),
                         [](const auto& info) { return info.param.name; });

struct BinaryCase {
  std::string name;
  Var (*op)(const Var&, const Var&);
  double low, high;  // of both operands
};

std::vector<BinaryCase> binary_cases() {
  return {{"add", [](const Var& a, const Var& b) { return a + b; }, -3, 3},
          {"sub", [](const Var& a, const Var& b) { return a - b; }, -3, 3},
          {"mul", [](const Var& a, const Var& b) { return a * b; }, -3, 3},
          {"div", [](const Var& a, const Var& b) { return a / b; }, 0.4, 3},
          {"pow", [](const Var& a, const Var& b) { return pow(a, b); }, 0.3, 2.5},
          {"maximum", maximum, -3, 3},
          {"minimum", minimum, -3, 3}};
}

class BinaryOps : public ::testing::TestWithParam<BinaryCase> {};

TEST_P(BinaryOps, gradients_are_right_for_broadcast_shapes_and_every_layout) {
  const BinaryCase& c = GetParam();
  const std::pair<Shape, Shape> shapes[] = {{{3, 5}, {3, 5}}, {{2, 3, 4}, {4}},       {{3, 1}, {1, 5}},
                                            {{}, {2, 3}},     {{2, 1, 4}, {3, 1}},    {{0, 3}, {3}},
                                            {{1}, {1}},       {{2, 3, 4}, {2, 1, 4}}, {{4, 2}, {1, 1}}};
  for (const auto& [sa, sb] : shapes) {
    const Tensor a = tensor_of(uniform(c.low, c.high)(sa.numel(), 7), sa, DType::f64);
    const Tensor b = tensor_of(uniform(c.low, c.high)(sb.numel(), 8), sb, DType::f64);
    for (const Layout layout : kLayouts) {
      const auto f = [&](const Vars& v) { return c.op(v[0], v[1]); };
      EXPECT_EQ(gradcheck(f, {with_layout(a, layout), b}), "") << sa << sb << name_of(layout);
      EXPECT_EQ(gradcheck(f, {a, with_layout(b, layout)}), "") << sa << sb << name_of(layout);
    }
  }
}

TEST_P(BinaryOps, an_operand_used_twice_gets_both_gradients) {
  const BinaryCase& c = GetParam();
  const Tensor x = tensor_of(uniform(c.low, c.high)(6, 9), {2, 3}, DType::f64);
  EXPECT_EQ(gradcheck([&](const Vars& v) { return c.op(v[0], v[0]); }, {x}), "");
}

INSTANTIATE_TEST_SUITE_P(cases, BinaryOps, ::testing::ValuesIn(binary_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(BinaryOps, ties_share_the_gradient) {
  const Var a = Var::parameter(tensor_of({1, 2, 3}, {3}, DType::f64));
  const Var b = Var::parameter(tensor_of({1, 1, 4}, {3}, DType::f64));
  backward(maximum(a, b), {.seed = tensor_of({1, 1, 1}, {3}, DType::f64)});
  EXPECT_EQ(a.grad().to_vector<double>(), (Values{0.5, 1, 0}));
  EXPECT_EQ(b.grad().to_vector<double>(), (Values{0.5, 0, 1}));
}

TEST(BinaryOps, addition_hands_its_gradient_on_without_a_copy) {
  const Var a = Var::parameter(Tensor::zeros({1000})), b = Var::parameter(Tensor::zeros({1000}));
  const Var y = (a * 2) + (b * 3);
  const Tensor seed = Tensor::full({1000}, 1);
  ledger(kCpu).reset_peaks();
  const int64_t before = ledger(kCpu).current()[size_t(Category::temporaries)];
  backward(y, {.seed = seed});
  // The products write into the leaves' gradients; the sum passes on the seed itself.
  EXPECT_EQ(ledger(kCpu).report().own_peak[size_t(Category::temporaries)], before);
  EXPECT_EQ(a.grad().to_vector<double>()[0], 2);
  EXPECT_EQ(b.grad().to_vector<double>()[999], 3);
}

TEST(BinaryOps, save_only_what_the_backward_reads) {
  const auto activations = [] { return ledger(kCpu).current()[size_t(Category::activations)]; };
  const Var a = Var::parameter(Tensor::zeros({1000}));
  const Var constant(Tensor::full({1000}, 2));
  const int64_t before = activations();
  const Var y = (a * constant) * constant;  // da needs the constant only
  EXPECT_EQ(activations() - before, 4000);
  const Var z = y + constant;
  EXPECT_EQ(activations() - before, 4000);
}

TEST(BinaryOps, dtypes_are_promoted_and_gradients_converted_back) {
  const DType types[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
  for (const DType ta : types) {
    for (const DType tb : types) {
      const Var a = Var::parameter(tensor_of({1, 2, 3, 4, 5, 6}, {2, 3}, ta));
      const Var b = Var::parameter(tensor_of({2, 3, 4}, {3}, tb));
      for (const bool sum : {true, false}) {
        Var x = to(a, ta), w = to(b, tb);
        const Var y = sum ? x + w : x * w;
        EXPECT_EQ(y.dtype(), promote(ta, tb));
        EXPECT_EQ(y.value().to_vector<double>(),
                  sum ? (Values{3, 5, 7, 6, 8, 10}) : (Values{2, 6, 12, 8, 15, 24}));
        Var(a).zero_grad();
        Var(b).zero_grad();
        backward(y, {.seed = Tensor::full({2, 3}, 1, {y.dtype(), kCpu, {}})});
        EXPECT_EQ(a.grad().to_vector<double>(),
                  sum ? (Values{1, 1, 1, 1, 1, 1}) : (Values{2, 3, 4, 2, 3, 4}));
        EXPECT_EQ(b.grad().to_vector<double>(), sum ? (Values{2, 2, 2}) : (Values{5, 7, 9}));
      }
    }
  }
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::i64, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::u8, DType::i32), DType::i32);
  EXPECT_THROW(promote(DType::boolean, DType::i32), Error);
}

TEST(BinaryOps, name_the_op_and_what_is_wrong) {
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const Var a(Tensor::zeros({2, 3})), b(Tensor::zeros({4}));
  const Var ids(Tensor::zeros({3}, {DType::i64, kCpu, {}}));
  EXPECT_NE(message([&] { a* b; }).find("mul: shapes (2, 3) and (4) do not broadcast"), std::string::npos);
  EXPECT_NE(message([&] { exp(ids); }).find("exp: needs a floating dtype, got i64"), std::string::npos);
  EXPECT_NE(message([&] { ids / ids; }).find("div_forward: y is i64"), std::string::npos);
  EXPECT_NE(message([&] { clamp(a, 2, 1); }).find("clamp: low 2 is above high 1"), std::string::npos);
}

TEST(Where, gradients_go_to_the_chosen_side) {
  const Tensor mask = tensor_of({1, 0, 1}, {3}, DType::boolean);
  const Tensor a = tensor_of(normal()(6, 1), {2, 3}, DType::f64),
               b = tensor_of(normal()(3, 2), {3}, DType::f64);
  const Tensor column = tensor_of({1, 0}, {2, 1}, DType::boolean);
  for (const Layout layout : kLayouts) {
    const auto f = [&](const Vars& v) { return where(mask, v[0], v[1]); };
    EXPECT_EQ(gradcheck(f, {with_layout(a, layout), b}), "");
    const auto g = [&](const Vars& v) { return masked_fill(v[0], column, -7); };
    EXPECT_EQ(gradcheck(g, {with_layout(a, layout)}), "");
  }
  EXPECT_EQ(where(mask, Tensor::full({3}, 1), Tensor::full({}, 2)).value().to_vector<double>(),
            (Values{1, 2, 1}));
  EXPECT_EQ(masked_fill(Tensor::full({2, 3}, 1), column, -7).value().to_vector<double>(),
            (Values{-7, -7, -7, 1, 1, 1}));
}

TEST(Comparisons, follow_ieee_and_broadcast) {
  const double nan = NAN;
  const Tensor a = tensor_of({1, 2, 3, nan}, {4}, DType::f32), b = tensor_of({2, 2, 2, nan}, {4}, DType::f32);
  EXPECT_EQ(equal(a, b).to_vector<double>(), (Values{0, 1, 0, 0}));
  EXPECT_EQ(not_equal(a, b).to_vector<double>(), (Values{1, 0, 1, 1}));
  EXPECT_EQ(less(a, b).to_vector<double>(), (Values{1, 0, 0, 0}));
  EXPECT_EQ(less_equal(a, b).to_vector<double>(), (Values{1, 1, 0, 0}));
  EXPECT_EQ(greater(a, b).to_vector<double>(), (Values{0, 0, 1, 0}));
  EXPECT_EQ(greater_equal(a, b).to_vector<double>(), (Values{0, 1, 1, 0}));
  const Tensor big = Tensor::full({1}, 9007199254740992.0, {DType::i64, kCpu, {}});
  Tensor bigger = big.clone();
  bigger.mutable_data<int64_t>()[0] += 1;  // not a double
  EXPECT_EQ(less(big, bigger).item<bool>(), true);
  EXPECT_EQ(equal(big, bigger).item<bool>(), false);
}

}  // namespace
}  // namespace tare::test
