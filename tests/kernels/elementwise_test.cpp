// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels against their references.
#include "tare/kernels/elementwise.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/ref/elementwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

using kernels::Side;
using Scalar = std::function<double(double)>;

// How a row's operands are seen by the kernel.
enum class View { dense, transposed, every_second };

Tensor seen(const Tensor& t, View view) {
  if (view == View::transposed) return t.transpose(0, 1);
  if (view == View::every_second) return t.slice(1, 0, t.size(1), 2);
  return t;
}

// What a reference leaves where the kernel does not write.
Values masked(Values y, const Values& before, const Shape& shape, View view) {
  if (view != View::every_second) return y;
  for (size_t i = 0; i < y.size(); ++i)
    if (int64_t(i) % shape[1] % 2 == 1) y[i] = before[i];
  return y;
}

double bytes_of(int64_t numel, DType dtype, int times) { return double(numel * size_of(dtype) * times); }

Values mapped(const Values& x, const Scalar& f) {
  Values y;
  for (const double v : x) y.push_back(f(v));
  return y;
}

struct UnaryFormula {
  Scalar f, df;
  double low, high;
};

template <class F>
void add_unary(std::vector<OpCase>& rows, const std::string& name, const UnaryFormula& formula, F f = {}) {
  struct Variant {
    const char* name;
    Shape shape;
    View view;
    bool add;
  };
  const std::vector<Variant> variants = {{"3x7", {3, 7}, View::dense, true},
                                         {"2x1031", {2, 1031}, View::dense, false},
                                         {"7x67_transposed", {7, 67}, View::transposed, false},
                                         {"3x401_every_second", {3, 401}, View::every_second, true},
                                         {"empty", {0, 5}, View::dense, false}};
  for (const Variant& v : variants) {
    const Maker values = uniform(formula.low, formula.high);
    const int64_t numel =
        v.view == View::every_second ? v.shape[0] * ((v.shape[1] + 1) / 2) : v.shape.numel();
    const Maker untouched = v.view == View::every_second ? normal() : Maker();
    rows.push_back({.name = name + "_forward_" + v.name,
                    .inputs = {{"x", v.shape, values}},
                    .outputs = {{"y", v.shape, untouched}},
                    .run =
                        [=](Tensors& in, Tensors& out) {
                          Tensor y = seen(out[0], v.view);
                          kernels::unary_forward(seen(in[0], v.view), y, f);
                        },
                    .ref = [=](const Operands& a) -> std::vector<Values> {
                      return {masked(mapped(a.in[0], formula.f), a.before[0], v.shape, v.view)};
                    },
                    .flops = double(F::kFlops) * double(numel),
                    .bytes = [=](DType dtype) { return bytes_of(numel, dtype, 2); }});
    {
      const bool add = v.add;
      const int operands = (F::kNeeds == math::Needs::nothing ? 2 : 3) + add;
      rows.push_back({.name = name + "_backward_" + v.name + (add ? "_add" : "_set"),
                      .inputs = {{"saved", v.shape, values}, {"dy", v.shape, normal()}},
                      .outputs = {{"dx", v.shape, add || untouched ? normal() : Maker()}},
                      .run =
                          [=](Tensors& in, Tensors& out) {
                            const Tensor saved = seen(in[0], v.view);
                            Tensor dx = seen(out[0], v.view);
                            const Accum accum = add ? Accum::add : Accum::set;
                            const bool x = F::kNeeds == math::Needs::x, y = F::kNeeds == math::Needs::y;
                            kernels::unary_backward(x ? saved : Tensor(), y ? saved : Tensor(),
                                                    seen(in[1], v.view), dx, accum, f);
                          },
                      .ref = [=](const Operands& a) -> std::vector<Values> {
                        Values dx;
                        // A saved y stands for the x that has it: the derivative is taken there.
                        for (size_t i = 0; i < a.in[0].size(); ++i)
                          dx.push_back(formula.df(a.in[0][i]) * a.in[1][i]);
                        return {masked(add ? plus(dx, a.before[0]) : dx, a.before[0], v.shape, v.view)};
                      },
                      .flops = double(F::kFlops + 1) * double(numel),
                      .bytes = [=](DType dtype) { return bytes_of(numel, dtype, operands); }});
    }
  }
}

// f and df of the reference table; df as a function of what the functor saves.
template <class F> UnaryFormula formula_of(const Scalar& df_of_saved = {}) {
  const ref::UnaryRef& r = ref::unary_ref(F::kName);
  return {r.f, df_of_saved ? df_of_saved : Scalar(r.df), r.low, r.high};
}

std::vector<OpCase> unary_cases() {
  std::vector<OpCase> rows;
  const auto add = [&]<class F>(F f, const Scalar& df_of_saved = {}) {
    add_unary(rows, F::kName, formula_of<F>(df_of_saved), f);
  };
  add(math::Neg{});
  add(math::Abs{});
  add(math::Square{});
  add(math::Reciprocal{}, [](double y) { return -y * y; });
  add(math::Log{});
  add(math::Rsqrt{}, [](double y) { return -0.5 * y * y * y; });
  add(math::Relu{}, [](double y) { return y > 0 ? 1.0 : 0.0; });
  add(math::Silu{});
  add(math::GeluTanh{});
  add(math::GeluErf{});
  // Where y is saved, it is drawn from y's range.
  add_unary<math::Exp>(rows, "exp",
                       {[](double x) { return std::exp(x); }, [](double y) { return y; }, -5, 5});
  add_unary<math::Sqrt>(rows, "sqrt",
                        {[](double x) { return std::sqrt(x); }, [](double y) { return 0.5 / y; }, 0.25, 9});
  add_unary<math::Tanh>(
      rows, "tanh", {[](double x) { return std::tanh(x); }, [](double y) { return 1 - y * y; }, -0.97, 0.97});
  add_unary<math::Sigmoid>(rows, "sigmoid",
                           {ref::sigmoid<double>, [](double y) { return y * (1 - y); }, 0.03, 0.97});
  add_unary<math::Erf>(rows, "erf",
                       {[](double x) { return std::erf(x); },
                        [](double x) { return 2 / std::sqrt(M_PI) * std::exp(-x * x); }, -3, 3});
  add_unary(rows, "pow_scalar",
            {[](double x) { return std::pow(x, -1.5); }, [](double x) { return -1.5 * std::pow(x, -2.5); },
             0.25, 4},
            math::PowScalar{-1.5});
  add_unary(rows, "clamp",
            {[](double x) { return ref::clamp(x, -1.0, 2.0); },
             [](double x) { return ref::clamp_grad(x, -1.0, 2.0); }, -3, 3},
            math::Clamp{-1, 2});
  add_unary(rows, "add_scalar", {[](double x) { return x + 0.75; }, [](double) { return 1.0; }, -3, 3},
            math::AddScalar{0.75});
  add_unary(rows, "mul_scalar", {[](double x) { return x * -1.5; }, [](double) { return -1.5; }, -3, 3},
            math::MulScalar{-1.5});
  add_unary(rows, "div_scalar", {[](double x) { return x / 3; }, [](double) { return 1.0 / 3; }, -3, 3},
            math::DivScalar{3});
  add_unary(rows, "scalar_sub", {[](double x) { return 0.75 - x; }, [](double) { return -1.0; }, -3, 3},
            math::ScalarSub{0.75});
  add_unary(rows, "scalar_div",
            {[](double x) { return 3 / x; }, [](double x) { return -3 / (x * x); }, 0.5, 4},
            math::ScalarDiv{3});
  return rows;
}

TARE_TEST_OP_CASES(Unary, unary_cases());

Shape tare_shape(const ref::Shape& s) { return Shape(std::span<const int64_t>(s)); }

template <class F> void add_binary(std::vector<OpCase>& rows, double b_low, double b_high, double a_low) {
  const ref::BinaryRef& r = ref::binary_ref(F::kName);
  struct Variant {
    const char* name;
    ref::Shape a, b;
  };
  const std::vector<Variant> variants = {{"same", {3, 7}, {3, 7}},
                                         {"row", {5, 211}, {211}},
                                         {"column", {3, 345}, {3, 1}},
                                         {"outer", {9, 1}, {1, 131}},
                                         {"scalar", {}, {2, 3}},
                                         {"middle", {2, 1, 33}, {17, 1}},
                                         {"six_axes", {2, 1, 3, 1, 2, 5}, {1, 4, 3, 2, 1, 5}},
                                         {"empty", {0, 3}, {3}}};
  for (const Variant& v : variants) {
    const ref::Shape shape = ref::broadcast_shape(v.a, v.b);
    const double n = double(ref::numel(shape));
    const Operand a{"a", tare_shape(v.a), uniform(a_low, 5)}, b{"b", tare_shape(v.b), uniform(b_low, b_high)};
    rows.push_back(
        {.name = std::string(F::kForward) + "_" + v.name,
         .inputs = {a, b},
         .outputs = {{"y", tare_shape(shape)}},
         .run = [](Tensors& in, Tensors& out) { kernels::binary_forward<F>(in[0], in[1], out[0]); },
         .ref = [=](const Operands& o) -> std::vector<Values> {
           return {ref::map2(o.in[0], v.a, o.in[1], v.b, r.f)};
         },
         .flops = double(F::kFlops) * n});
    for (const Side side : {Side::a, Side::b}) {
      const math::Reads reads = side == Side::a ? F::kANeeds : F::kBNeeds;
      const bool add = side == Side::b;
      const auto derivative = side == Side::a ? r.da : r.db;
      rows.push_back({.name = std::string(F::kBackward) + (add ? "_b_add_" : "_a_set_") + v.name,
                      .inputs = {a, b, {"dy", tare_shape(shape), normal()}},
                      .outputs = {{"dx", tare_shape(shape), add ? normal() : Maker()}},
                      .run =
                          [=](Tensors& in, Tensors& out) {
                            kernels::binary_backward<F>(side, reads.a ? in[0] : Tensor(),
                                                        reads.b ? in[1] : Tensor(), in[2], out[0],
                                                        add ? Accum::add : Accum::set);
                          },
                      .ref = [=](const Operands& o) -> std::vector<Values> {
                        Values dx = ref::map2(o.in[0], v.a, o.in[1], v.b, derivative);
                        for (size_t i = 0; i < dx.size(); ++i) dx[i] *= o.in[2][i];
                        return {add ? plus(dx, o.before[0]) : dx};
                      },
                      .flops = double(F::kFlops + 1) * n,
                      .bytes =
                          [=](DType dtype) {
                            const double elements = (reads.a ? double(ref::numel(v.a)) : 0) +
                                                    (reads.b ? double(ref::numel(v.b)) : 0) +
                                                    n * (add ? 3 : 2);
                            return elements * double(size_of(dtype));
                          }});
    }
  }
}

std::vector<OpCase> binary_cases() {
  std::vector<OpCase> rows;
  add_binary<math::Add>(rows, -5, 5, -5);
  add_binary<math::Sub>(rows, -5, 5, -5);
  add_binary<math::Mul>(rows, -5, 5, -5);
  add_binary<math::Div>(rows, 0.5, 5, -5);
  add_binary<math::Pow>(rows, -3, 3, 0.25);
  add_binary<math::Maximum>(rows, -5, 5, -5);
  add_binary<math::Minimum>(rows, -5, 5, -5);
  return rows;
}

TARE_TEST_OP_CASES(Binary, binary_cases());

template <class F>
OpCase integer_row(const char* name, double (*f)(double, double), std::vector<DType> dtypes) {
  return {.name = std::string(name) + "_of_integers",
          .inputs = {{"a", {5, 131}, indices(12)}, {"b", {131}, indices(12)}},
          .outputs = {{"y", {5, 131}}},
          .run = [](Tensors& in, Tensors& out) { kernels::binary_forward<F>(in[0], in[1], out[0]); },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            return {ref::map2(o.in[0], {5, 131}, o.in[1], {131}, f)};
          },
          .dtypes = std::move(dtypes)};
}

template <class F> OpCase comparison_row(const char* name, bool (*f)(double, double)) {
  return {.name = name,
          .inputs = {{"a", {7, 1, 5}, indices(3)}, {"b", {129, 1}, with(indices(3), {NAN})}},
          .outputs = {{"y", {7, 129, 5}, {}, DType::boolean}},
          .run = [](Tensors& in, Tensors& out) { kernels::compare<F>(in[0], in[1], out[0]); },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            const auto as_double = [f](double a, double b) { return f(a, b) ? 1.0 : 0.0; };
            return {ref::map2(o.in[0], {7, 1, 5}, o.in[1], {129, 1}, as_double)};
          }};
}

OpCase where_row(const std::string& name, ref::Shape mask, ref::Shape a, ref::Shape b,
                 std::vector<DType> dtypes) {
  const ref::Shape shape = ref::broadcast_shape(mask, ref::broadcast_shape(a, b));
  return {.name = "where_" + name,
          .inputs = {{"mask", tare_shape(mask), test::mask(0.4), DType::boolean},
                     {"a", tare_shape(a), indices(100)},
                     {"b", tare_shape(b), indices(100)}},
          .outputs = {{"y", tare_shape(shape)}},
          .run = [](Tensors& in, Tensors& out) { kernels::where_forward(in[0], in[1], in[2], out[0]); },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            const Values m = ref::broadcast_to(o.in[0], mask, shape),
                         x = ref::broadcast_to(o.in[1], a, shape);
            Values y = ref::broadcast_to(o.in[2], b, shape);
            for (size_t i = 0; i < y.size(); ++i)
              if (m[i] != 0) y[i] = x[i];
            return {y};
          },
          .dtypes = std::move(dtypes),
          .flops = 0};
}

OpCase where_backward_row(bool on, bool add) {
  return {.name = std::string("where_backward") + (on ? "_on" : "_off") + (add ? "_add" : "_set"),
          .inputs = {{"mask", {3, 1}, with(mask(0.5), {1, 0}), DType::boolean}, {"dy", {3, 1031}, normal()}},
          .outputs = {{"dx", {3, 1031}, add ? normal() : Maker()}},
          .run =
              [=](Tensors& in, Tensors& out) {
                kernels::where_backward(in[0], on, in[1], out[0], add ? Accum::add : Accum::set);
              },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            Values dx = o.in[1];
            for (size_t i = 0; i < dx.size(); ++i)
              if ((o.in[0][i / 1031] != 0) != on) dx[i] = 0;
            return {plus(dx, o.before[0])};
          }};
}

std::vector<OpCase> other_cases() {
  const std::vector<DType> integers = {DType::i64, DType::i32, DType::u8};
  std::vector<OpCase> rows = {
      integer_row<math::Add>(
          "add", [](double a, double b) { return a + b; }, integers),
      integer_row<math::Mul>(
          "mul", [](double a, double b) { return a * b; }, integers),
      integer_row<math::Sub>("sub", [](double a, double b) { return a - b; }, {DType::i64, DType::i32}),
      integer_row<math::Maximum>(
          "maximum", [](double a, double b) { return a > b ? a : b; }, integers),
      integer_row<math::Minimum>(
          "minimum", [](double a, double b) { return a < b ? a : b; }, integers),
      comparison_row<math::Equal>("equal", [](double a, double b) { return a == b; }),
      comparison_row<math::NotEqual>("not_equal", [](double a, double b) { return a != b; }),
      comparison_row<math::Less>("less", [](double a, double b) { return a < b; }),
      comparison_row<math::LessEqual>("less_equal", [](double a, double b) { return a <= b; }),
      comparison_row<math::Greater>("greater", [](double a, double b) { return a > b; }),
      comparison_row<math::GreaterEqual>("greater_equal", [](double a, double b) { return a >= b; })};
  std::vector<DType> every = kFloating;
  every.insert(every.end(), integers.begin(), integers.end());
  rows.push_back(where_row("same", {3, 701}, {3, 701}, {3, 701}, every));
  rows.push_back(where_row("row", {701}, {3, 701}, {}, every));
  rows.push_back(where_row("outer", {3, 1}, {}, {1, 333}, every));
  for (const bool on : {true, false})
    for (const bool add : {true, false}) rows.push_back(where_backward_row(on, add));
  return rows;
}

TARE_TEST_OP_CASES(Elementwise, other_cases());

TEST(Elementwise, gradients_may_have_another_dtype) {
  const Values x = uniform(-3, 3)(700, 1), dy = normal()(700, 2);
  for (const DType half : {DType::f16, DType::bf16}) {
    const Tensor tx = tensor_of(x, {700}, half), tdy = tensor_of(dy, {700}, half);
    for (const DType wide : {DType::f32, DType::f64}) {
      Tensor dx = tensor_of(Values(700, 1), {700}, wide);
      kernels::unary_backward<math::GeluErf>(tx, {}, tdy, dx, Accum::add);
      Values want = rounded_to(half, dy);
      const Values at = rounded_to(half, x);
      for (size_t i = 0; i < want.size(); ++i) want[i] = 1 + want[i] * ref::gelu_erf_grad(at[i]);
      expect_close(dx, want, tolerance(DType::f32).looser(wide == DType::f64 ? 1e10 : 1, "computed in f32"));
    }
  }
}

TEST(Elementwise, results_may_stand_in_the_place_of_an_operand) {
  const Values a = normal()(1300, 1), b = normal()(1300, 2);
  for (const DType dtype : kFloating) {
    Tensor x = tensor_of(a, {13, 100}, dtype), y = tensor_of(b, {13, 100}, dtype);
    Tensor want = Tensor::empty_like(x);
    kernels::binary_forward<math::Mul>(x, y, want);
    Tensor in_a = x.clone(), in_b = y.clone();
    kernels::binary_forward<math::Mul>(in_a, y, in_a);
    kernels::binary_forward<math::Mul>(x, in_b, in_b);
    EXPECT_TRUE(same_bits(in_a, want));
    EXPECT_TRUE(same_bits(in_b, want));
    kernels::unary_forward<math::Exp>(x, want);
    Tensor in_x = x.clone();
    kernels::unary_forward<math::Exp>(in_x, in_x);
    EXPECT_TRUE(same_bits(in_x, want));
  }
}

TEST(Elementwise, name_what_is_wrong) {
  const Tensor x = Tensor::zeros({2, 3}), row = Tensor::zeros({3}),
               ids = Tensor::zeros({3}, {DType::i64, kCpu, {}});
  Tensor y = Tensor::zeros({2, 3}), small = Tensor::zeros({3}), repeated = small.expand({2, 3});
  EXPECT_ERROR(kernels::unary_forward<math::Exp>(row, y), "exp_forward: y has shape (2, 3), expected (3)");
  EXPECT_ERROR(kernels::unary_forward<math::Exp>(ids, small),
               "exp_forward: x is i64, expected a floating dtype");
  EXPECT_ERROR(kernels::unary_forward<math::Exp>(x, repeated), "repeats elements");
  EXPECT_ERROR(kernels::unary_backward<math::Log>({}, {}, x, y, Accum::set), "log_backward: x is undefined");
  EXPECT_ERROR(kernels::binary_forward<math::Add>(x, row, small), "add_forward: a of shape (2, 3)");
  EXPECT_ERROR(kernels::binary_forward<math::Div>(ids, ids, small), "div_forward: a is i64");
  EXPECT_ERROR(kernels::compare<math::Less>(x, row, y), "less: y is f32, expected bool");
  EXPECT_ERROR(kernels::where_forward(x, x, x, y), "where_forward: mask is f32, expected bool");
}

}  // namespace
}  // namespace tare::test
