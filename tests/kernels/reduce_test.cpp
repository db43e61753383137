// SPDX-License-Identifier: Apache-2.0
// Reductions, and accumulation of gradients, against their references.
#include "tare/kernels/reduce.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tare/core/parallel.h"
#include "tare/kernels/accumulate.h"

#include "tests/ref/reduce.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

using Axes = std::vector<int64_t>;

Shape tare_shape(const ref::Shape& s) { return Shape(std::span<const int64_t>(s)); }
std::string text(const ref::Shape& s) {
  std::string t;
  for (const int64_t n : s) {
    if (!t.empty()) t += "x";
    t += std::to_string(n);
  }
  return t;
}
std::string text_of_axes(const Axes& axes) {
  std::string t = "_axes";
  for (const int64_t a : axes) t += std::to_string(a);
  return t;
}

// The value shape in memory, and how the kernel sees it: its axes in another order.
struct Layout {
  ref::Shape memory;
  std::vector<int> order;  // empty: as in memory

  Tensor seen(const Tensor& t) const { return order.empty() ? t : t.permute(order); }
  ref::Shape shape() const {
    ref::Shape s = memory;
    for (size_t i = 0; i < order.size(); ++i) s[i] = memory[size_t(order[i])];
    return s;
  }
  Values seen(const Values& x) const {
    if (order.empty()) return x;
    return ref::permute(x, memory, std::vector<size_t>(order.begin(), order.end()));
  }
  std::string name() const {
    std::string t = text(memory);
    if (!order.empty()) t += "_order";
    for (const int i : order) t += std::to_string(i);
    return t;
  }
};

struct Reduction {
  Layout layout;
  Axes axes;
};

// Rows, columns, several axes, axes in the middle, strides in every place, and sizes around the limits within
// the kernel: 64 lanes, 128 rows, 1024 columns, pieces of 32768 terms.
std::vector<Reduction> reductions() {
  return {{{{1, 1}, {}}, {1}},
          {{{5, 7}, {}}, {1}},
          {{{5, 7}, {}}, {0}},
          {{{3, 64}, {}}, {1}},
          {{{3, 63}, {}}, {1}},
          {{{3, 8200}, {}}, {1}},
          {{{2, 70001}, {}}, {1}},
          {{{300, 33}, {}}, {0}},
          {{{129, 1100}, {}}, {0}},
          {{{4000, 40}, {}}, {0}},
          {{{3, 4, 5, 6}, {}}, {1, 3}},
          {{{3, 4, 5, 6}, {}}, {0, 2}},
          {{{3, 4, 5, 6}, {3, 1, 0, 2}}, {0, 2}},
          {{{3, 4, 5, 6}, {2, 0, 3, 1}}, {1}},
          {{{70, 90}, {1, 0}}, {0}},
          {{{70, 90}, {1, 0}}, {1}},
          {{{2, 3, 4}, {}}, {0, 1, 2}}};
}

Operand operand_of(const Reduction& r, Maker make) {
  return {"x", tare_shape(r.layout.memory), std::move(make)};
}
Operand result_of(const Reduction& r, const char* name = "y", Maker make = {}) {
  return {name, tare_shape(ref::reduced_shape(r.layout.shape(), r.axes)), std::move(make)};
}
std::string name_of(const Reduction& r) { return r.layout.name() + text_of_axes(r.axes); }

void add_sums(std::vector<OpCase>& rows, const Reduction& r, const Maker& make) {
  const Layout layout = r.layout;
  const double n = double(ref::numel(layout.memory)),
               outputs = n / double(ref::group_size(layout.shape(), r.axes));
  for (const bool add : {false, true})
    rows.push_back({.name = std::string("sum_") + (add ? "add_" : "set_") + name_of(r),
                    .inputs = {operand_of(r, make)},
                    .outputs = {result_of(r, "y", add ? normal() : Maker())},
                    .run =
                        [=](Tensors& in, Tensors& out) {
                          kernels::sum_to(layout.seen(in[0]), out[0], add ? Accum::add : Accum::set);
                        },
                    .ref = [=](const Operands& o) -> std::vector<Values> {
                      return {plus(ref::sum(layout.seen(o.in[0]), layout.shape(), r.axes), o.before[0])};
                    },
                    .flops = n});
  rows.push_back(
      {.name = "mean_" + name_of(r),
       .inputs = {operand_of(r, make)},
       .outputs = {result_of(r)},
       .run = [=](Tensors& in, Tensors& out) { kernels::mean_forward(layout.seen(in[0]), out[0]); },
       .ref = [=](const Operands& o) -> std::vector<Values> {
         return {ref::mean(layout.seen(o.in[0]), layout.shape(), r.axes)};
       },
       .flops = n + outputs});
}

void add_extrema(std::vector<OpCase>& rows, const Reduction& r, const Maker& make) {
  const Layout layout = r.layout;
  for (const int sign : {1, -1}) {
    const auto which = sign > 0 ? kernels::Extremum::max : kernels::Extremum::min;
    rows.push_back(
        {.name = (sign > 0 ? "max_" : "min_") + name_of(r),
         .inputs = {operand_of(r, make)},
         .outputs = {result_of(r)},
         .run = [=](Tensors& in,
                    Tensors& out) { kernels::extremum_forward(which, layout.seen(in[0]), out[0]); },
         .ref = [=](const Operands& o) -> std::vector<Values> {
           return {ref::extremum(layout.seen(o.in[0]), layout.shape(), r.axes, sign)};
         }});
  }
}

void add_variances(std::vector<OpCase>& rows, const Reduction& r, const Maker& make) {
  const Layout layout = r.layout;
  const int64_t group = ref::group_size(layout.shape(), r.axes);
  for (const int64_t correction : {0, 1}) {
    if (group <= correction) continue;
    rows.push_back({.name = "variance_correction" + std::to_string(correction) + "_" + name_of(r),
                    .inputs = {operand_of(r, make)},
                    .outputs = {result_of(r)},
                    .run =
                        [=](Tensors& in, Tensors& out) {
                          Tensor mean = Tensor::empty(
                              out[0].shape(),
                              {in[0].dtype() == DType::f64 ? DType::f64 : DType::f32, in[0].device(), {}});
                          kernels::variance_forward(layout.seen(in[0]), correction, mean, out[0]);
                        },
                    .ref = [=](const Operands& o) -> std::vector<Values> {
                      return {ref::variance(layout.seen(o.in[0]), layout.shape(), r.axes, correction)};
                    },
                    .bytes =
                        [=](DType dtype) {
                          const double outputs = double(ref::numel(layout.memory) / group);
                          return 2 * double(ref::numel(layout.memory) * size_of(dtype)) +
                                 outputs * double(size_of(dtype)) + outputs * (dtype == DType::f64 ? 8 : 4);
                        }});
  }
}

std::vector<OpCase> sum_cases() {
  std::vector<OpCase> rows;
  // A mean away from 0 keeps the sums away from cancellation.
  for (const Reduction& r : reductions()) add_sums(rows, r, normal(0.5, 1));
  add_sums(rows, {{{0, 5}, {}}, {0}}, normal());
  add_sums(rows, {{{3, 0}, {}}, {0}}, normal());
  for (OpCase& row : rows)
    if (row.name == "mean_0x5_axes0") row.flops = 5;
  return rows;
}

std::vector<OpCase> extremum_cases() {
  std::vector<OpCase> rows;
  for (const Reduction& r : reductions()) add_extrema(rows, r, normal());
  for (OpCase& row : rows)
    if (row.name == "max_5x7_axes1") row.inputs[0].make = with(normal(), {1, NAN, 2, 3, 4, 5, 6, -INFINITY});
  return rows;
}

std::vector<OpCase> variance_cases() {
  std::vector<OpCase> rows;
  for (const Reduction& r : reductions())
    if (ref::group_size(r.layout.shape(), r.axes) > 1) add_variances(rows, r, normal(3, 1));
  return rows;
}

// The references add one term after the other, in f64: with 70001 terms they are the less exact side.
std::vector<OpCase> with_long_sums_loosened(std::vector<OpCase> rows) {
  for (OpCase& row : rows) {
    if (row.name.find("70001") == std::string::npos) continue;
    row.loosen = 4;
    row.loosen_reason = "the reference sums 70001 terms in one chain";
  }
  return rows;
}

TARE_TEST_OP_CASES(Sums, with_long_sums_loosened(sum_cases()));
TARE_TEST_OP_CASES(Extrema, extremum_cases());
TARE_TEST_OP_CASES(Variances, with_long_sums_loosened(variance_cases()));

OpCase accumulate_row(const Layout& layout, DType to, bool add, bool scaled) {
  return {.name = "accumulate_" + layout.name() + "_to_" + std::string(tare::name_of(to)) +
                  (add ? "_add" : "_set") + (scaled ? "_scaled" : ""),
          .inputs = {{"src", tare_shape(layout.memory), normal()}, {"scale", {1}, constant(1.5)}},
          .outputs = {{"dst", tare_shape(layout.shape()), add ? normal() : Maker(), to}},
          .run =
              [=](Tensors& in, Tensors& out) {
                const Accum accum = add ? Accum::add : Accum::set;
                if (scaled)
                  kernels::accumulate_scaled(layout.seen(in[0]), in[1], out[0], accum);
                else
                  kernels::accumulate(layout.seen(in[0]), out[0], accum);
              },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            Values y = layout.seen(o.in[0]);
            for (double& v : y) v *= scaled ? 1.5 : 1;
            return {plus(y, o.before[0])};
          },
          .bytes =
              [=](DType dtype) {
                const double n = double(ref::numel(layout.memory));
                return n * double(size_of(dtype)) + n * double(size_of(to)) * (add ? 2 : 1);
              }};
}

std::vector<OpCase> accumulate_cases() {
  std::vector<OpCase> rows;
  for (const Layout& layout : {Layout{{3, 1031}, {}}, Layout{{33, 70}, {1, 0}}, Layout{{3, 4, 5}, {1, 2, 0}}})
    for (const DType to : kFloating)
      for (const bool add : {false, true})
        for (const bool scaled : {false, true}) {
          OpCase row = accumulate_row(layout, to, add, scaled);
          if (to != DType::f64) row.dtypes = {DType::f32, DType::f16, DType::bf16};  // no rounding twice
          rows.push_back(row);
        }
  return rows;
}

TARE_TEST_OP_CASES(Accumulate, accumulate_cases());

TEST(Sums, of_many_f32_keep_their_digits) {
  // In one f32 accumulator 4 million times 0.1 would be off by more than one in a hundred.
  const int64_t n = 1 << 22;
  Tensor x = Tensor::full({n}, 0.1), y = Tensor::empty({1}), columns = Tensor::empty({1, 64});
  const double each = double(0.1f);
  kernels::sum_to(x, y, Accum::set);
  EXPECT_NEAR(y.item<double>() / (double(n) * each), 1, 2e-6);
  kernels::sum_to(x.view({n / 64, 64}), columns, Accum::set);
  for (const double v : columns.to_vector<double>()) EXPECT_NEAR(v / (double(n / 64) * each), 1, 2e-6);
}

TEST(Sums, of_an_expanded_tensor_count_each_repetition) {
  const Tensor x = tensor_of({1, 2, 3}, {3, 1}, DType::f32).expand({3, 200});
  Tensor rows = Tensor::empty({3, 1}), columns = Tensor::empty({200}), all = Tensor::empty({1, 1});
  kernels::sum_to(x, rows, Accum::set);
  kernels::sum_to(x, columns, Accum::set);
  kernels::sum_to(x, all, Accum::set);
  EXPECT_EQ(rows.to_vector<double>(), (Values{200, 400, 600}));
  EXPECT_EQ(columns.to_vector<double>(), Values(200, 6));
  EXPECT_EQ(all.item<double>(), 1200);
}

TEST(Sums, keep_nan_and_infinity) {
  Tensor y = Tensor::empty({3, 1});
  kernels::sum_to(tensor_of({1, NAN, INFINITY, 1, INFINITY, -INFINITY}, {3, 2}, DType::f32), y, Accum::set);
  const Values got = y.to_vector<double>();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], INFINITY);
  EXPECT_TRUE(std::isnan(got[2]));
}

TEST(Reductions, of_nothing) {
  const Tensor x = Tensor::empty({0, 3});
  Tensor y = Tensor::full({1, 3}, 7);
  kernels::mean_forward(x, y);
  for (const double v : y.to_vector<double>()) EXPECT_TRUE(std::isnan(v));
  for (const int64_t correction : {0, 1}) {
    Tensor mean = Tensor::full({1, 3}, 7), variance = Tensor::full({1, 3}, 7);
    kernels::variance_forward(x, correction, mean, variance);
    for (const double v : variance.to_vector<double>()) EXPECT_TRUE(std::isnan(v)) << correction;
  }
  EXPECT_ERROR(kernels::extremum_forward(kernels::Extremum::max, x, y), "has no element to choose");
}

TEST(Reductions, a_variance_of_too_few_elements_is_not_a_number) {
  const Tensor x = tensor_of({1, 2, 3, 4}, {2, 2}, DType::f32);
  Tensor mean = Tensor::empty({2, 1}), y = Tensor::empty({2, 1}), one = Tensor::empty({2, 2});
  kernels::variance_forward(x, 3, mean, y);  // of 0.5 / max(0, 2 - 3)
  EXPECT_EQ(y.to_vector<double>(), (Values{INFINITY, INFINITY}));
  Tensor means = Tensor::empty({2, 2});
  kernels::variance_forward(x, 1, means, one);  // of 0 / 0
  for (const double v : one.to_vector<double>()) EXPECT_TRUE(std::isnan(v));
}

TEST(Extrema, the_gradient_is_shared_by_the_ties_or_by_the_nan_that_win) {
  // Rows long enough for whole vectors, with two winners each.
  const int64_t n = 200;
  Values values = normal()(3 * n, 1), dy = {3, 5, 7};
  for (int64_t c : {17, 130}) {
    values[size_t(c)] = NAN;
    values[size_t(n + c)] = 50;
    values[size_t(2 * n + c)] = -50;
  }
  for (const DType dtype : kFloating) {
    const Tensor x = tensor_of(values, {3, n}, dtype), seed = tensor_of(dy, {3, 1}, dtype);
    for (const int sign : {1, -1}) {
      for (const bool add : {false, true}) {
        Tensor y = Tensor::empty({3, 1}, {dtype, kCpu, {}});
        Tensor ties = Tensor::empty({3, 1}, {dtype == DType::f64 ? DType::f64 : DType::f32, kCpu, {}});
        Tensor dx = Tensor::full({3, n}, add ? 1 : NAN, {dtype, kCpu, {}});
        kernels::extremum_forward(sign > 0 ? kernels::Extremum::max : kernels::Extremum::min, x, y);
        kernels::extremum_backward(x, y, seed, ties, dx, add ? Accum::add : Accum::set);
        Values want = ref::extremum_grad(x.to_vector<double>(), dy, {3, n}, {1}, sign);
        EXPECT_EQ(want[17], 1.5);
        for (double& v : want) v += add ? 1 : 0;
        EXPECT_EQ(dx.to_vector<double>(), want) << tare::name_of(dtype) << " sign " << sign;
      }
    }
  }
}

TEST(Reductions, name_what_is_wrong) {
  const Tensor x = Tensor::zeros({2, 3}), ids = Tensor::zeros({2, 3}, {DType::i64, kCpu, {}});
  Tensor y = Tensor::zeros({2, 2}), row = Tensor::zeros({1, 3});
  EXPECT_ERROR(kernels::mean_forward(x, y), "mean_forward: shapes (2, 3) and (2, 2) do not broadcast");
  EXPECT_ERROR(kernels::mean_forward(ids, row), "mean_forward: x is i64, expected a floating dtype");
  EXPECT_ERROR(kernels::variance_forward(x, -1, row, row), "variance_forward: correction -1");
}

TEST(Accumulate, rounds_once_into_half_types) {
  const Tensor x = Tensor::from_vector(std::vector<double>{1 + 0x1p-8 + 0x1p-40}, {1});
  Tensor y = Tensor::zeros({1}, {DType::bf16, kCpu, {}}), mean = Tensor::zeros({1}, {DType::bf16, kCpu, {}});
  kernels::accumulate(x, y, Accum::set);
  kernels::mean_forward(x, mean);
  EXPECT_EQ(y.item<double>(), 1 + 0x1p-7);
  EXPECT_EQ(mean.item<double>(), 1 + 0x1p-7);
}

}  // namespace
}  // namespace tare::test
