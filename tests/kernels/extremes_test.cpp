// SPDX-License-Identifier: Apache-2.0
// Positions of the largest and smallest elements, and the k largest, against their references.
#include "tare/kernels/extremes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/ref/reduce.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

using kernels::Extremum;

const std::vector<DType> kAllNumbers = {DType::f64, DType::f32, DType::f16, DType::bf16,
                                        DType::i64, DType::i32, DType::u8};

std::string size_name(int64_t outer, int64_t n, int64_t inner) {
  return detail::concat(outer, "x", n, inner == 1 ? std::string() : detail::concat("x", inner));
}

// The lines along the middle axis of x (outer, n, inner), one after the other.
Values lines_of(const Values& x, int64_t outer, int64_t n, int64_t inner) {
  Values lines;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t c = 0; c < inner; ++c)
      for (int64_t i = 0; i < n; ++i) lines.push_back(x[size_t((o * n + i) * inner + c)]);
  return lines;
}

OpCase arg_case(Extremum which, int64_t outer, int64_t n, int64_t inner, const Maker& make,
                const char* suffix) {
  const bool max = which == Extremum::max;
  return {.name = std::string(max ? "argmax_" : "argmin_") + size_name(outer, n, inner) + suffix,
          .inputs = {{"x", {outer, n, inner}, make}},
          .outputs = {{"indices", {outer, 1, inner}, {}, DType::i64}},
          .run = [=](Tensors& in, Tensors& out) { kernels::arg_extremum(which, in[0], 1, out[0]); },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            Values x = lines_of(o.in[0], outer, n, inner);
            if (!max)
              for (double& v : x) v = -v;
            const std::vector<int64_t> at = ref::argmax(x, outer * inner, n);
            return {Values(at.begin(), at.end())};
          },
          .flops = double(outer * n * inner)};
}

std::vector<OpCase> arg_cases() {
  std::vector<OpCase> rows;
  const int64_t sizes[][3] = {{1, 1, 1},   {3, 7, 1},   {40, 129, 1}, {2, 20000, 1}, {0, 5, 1},  {1, 5, 3},
                              {2, 9, 700}, {7, 33, 41}, {1, 3, 0},    {300, 65, 1},  {2, 300, 2}};
  for (const auto& [outer, n, inner] : sizes)
    for (const Extremum which : {Extremum::max, Extremum::min}) {
      rows.push_back(arg_case(which, outer, n, inner, normal(0, 1000), ""));
      // Every number comes several times: the first of them is wanted.
      rows.push_back(arg_case(which, outer, n, inner, indices(std::max<int64_t>(2, n / 3)), "_ties"));
      for (OpCase& row : std::span(rows).last(2)) row.dtypes = kAllNumbers;
      rows.back().dtypes.pop_back();  // u8 holds no 6666
      rows.end()[-2].dtypes.pop_back();
      rows.push_back(arg_case(which, outer, n, inner, indices(250), "_u8"));
      rows.back().dtypes = {DType::u8};
      rows.push_back(arg_case(which, outer, n, inner, mask(0.1), "_bool"));
      rows.back().dtypes = {DType::boolean};
    }
  return rows;
}

TARE_TEST_OP_CASES(Positions, arg_cases());

OpCase topk_case(int64_t m, int64_t n, int64_t k, const Maker& make, const char* suffix) {
  return {.name = detail::concat("topk", k, "_", size_name(m, n, 1), suffix),
          .inputs = {{"x", {m, n}, make}},
          .outputs = {{"values", {m, k}}, {"indices", {m, k}, {}, DType::i64}},
          .run = [](Tensors& in, Tensors& out) { kernels::topk(in[0], out[0], out[1]); },
          .ref = [=](const Operands& o) -> std::vector<Values> {
            const std::vector<int64_t> at = ref::top_k(o.in[0], m, n, k);
            Values values;
            for (size_t i = 0; i < at.size(); ++i)
              values.push_back(o.in[0][size_t(int64_t(i) / k * n + at[i])]);
            return {values, Values(at.begin(), at.end())};
          },
          .flops = double(m * n)};
}

std::vector<OpCase> topk_cases() {
  std::vector<OpCase> rows;
  const int64_t sizes[][3] = {{1, 1, 1},    {3, 7, 1},      {3, 7, 5},    {3, 7, 7},     {40, 1290, 1},
                              {40, 129, 5}, {40, 129, 129}, {2, 5000, 1}, {2, 5000, 40}, {3, 7, 0}};
  for (const auto& [m, n, k] : sizes) {
    rows.push_back(topk_case(m, n, k, normal(0, 1000), ""));
    rows.push_back(topk_case(m, n, k, indices(std::max<int64_t>(2, n / 3)), "_ties"));
    for (OpCase& row : std::span(rows).last(2)) row.dtypes = {kAllNumbers.begin(), kAllNumbers.end() - 1};
    rows.push_back(topk_case(m, n, k, indices(250), "_u8"));
    rows.back().dtypes = {DType::u8};
  }
  return rows;
}

TARE_TEST_OP_CASES(TopK, topk_cases());

Tensor i64(const Shape& shape) { return Tensor::zeros(shape, {DType::i64, kCpu, {}}); }

TEST(Positions, nan_wins_and_the_first_of_equal_ones_is_taken) {
  for (const DType dtype : kFloating)
    for (const int64_t n : {6, 40, 3000}) {
      Values values(size_t(n), 0.5);
      values[1] = INFINITY;
      values[2] = NAN;
      values[4] = NAN;
      values[5] = -INFINITY;
      const Tensor row = tensor_of(values, {1, n}, dtype);
      Tensor at = i64({1, 1}), at_columns = i64({1, 1, 3}), best = Tensor::empty({1, 4}, {dtype, kCpu, {}}),
             ranks = i64({1, 4});
      for (const Extremum which : {Extremum::max, Extremum::min}) {
        kernels::arg_extremum(which, row, 1, at);
        EXPECT_EQ(at.item<int64_t>(), 2) << dtype << n;
        kernels::arg_extremum(which, row.unsqueeze(2).expand({1, n, 3}).contiguous(), 1, at_columns);
        EXPECT_EQ(at_columns.to_vector<int64_t>(), (std::vector<int64_t>{2, 2, 2})) << dtype << n;
      }
      kernels::topk(row, best, ranks);
      EXPECT_EQ(ranks.to_vector<int64_t>(), (std::vector<int64_t>{2, 4, 1, 0})) << dtype << n;
      EXPECT_TRUE(std::isnan(best.to_vector<double>()[1]));
      EXPECT_EQ(best.to_vector<double>()[2], INFINITY);
    }
}

TEST(Positions, zeros_of_both_signs_are_equal_and_infinities_are_numbers) {
  Tensor at = i64({1});
  kernels::arg_extremum(Extremum::max, tensor_of({-0.0, 0.0}, {2}, DType::f32), 0, at);
  EXPECT_EQ(at.item<int64_t>(), 0);
  kernels::arg_extremum(Extremum::min, tensor_of({0.0, -0.0}, {2}, DType::f32), 0, at);
  EXPECT_EQ(at.item<int64_t>(), 0);
  kernels::arg_extremum(Extremum::max, Tensor::full({2000}, -INFINITY), 0, at);
  EXPECT_EQ(at.item<int64_t>(), 0);
}

TEST(Positions, integers_beyond_the_mantissa_of_a_double_are_told_apart) {
  const int64_t big = int64_t(1) << 53;
  const Tensor x = Tensor::from_vector<int64_t>({big, big + 1, -big, -big - 1}, {1, 4});
  Tensor at = i64({1, 1}), best = i64({1, 2}), ranks = i64({1, 2});
  kernels::arg_extremum(Extremum::max, x, 1, at);
  EXPECT_EQ(*at.data<int64_t>(), 1);
  kernels::arg_extremum(Extremum::min, x, 1, at);
  EXPECT_EQ(*at.data<int64_t>(), 3);
  kernels::topk(x, best, ranks);
  EXPECT_EQ(best.to_vector<int64_t>(), (std::vector<int64_t>{big + 1, big}));
}

TEST(Positions, what_cannot_be_chosen_is_an_error) {
  const Tensor x = Tensor::zeros({2, 3});
  Tensor values = Tensor::zeros({2, 4}), indices = i64({2, 4}), one = i64({2, 1}),
         wrong = Tensor::zeros({2, 1});
  EXPECT_ERROR(kernels::topk(x, values, indices),
               "topk: k is 4, but x of shape (2, 3) has 3 elements per row");
  EXPECT_ERROR(kernels::arg_extremum(Extremum::max, Tensor::zeros({2, 0}), 1, one),
               "x of shape (2, 0) has no element to choose on axis 1");
  EXPECT_ERROR(kernels::arg_extremum(Extremum::max, x, 1, wrong), "indices", "f32", "i64");
  EXPECT_ERROR(kernels::arg_extremum(Extremum::max, x.transpose(0, 1), 1, one), "x", "contiguous");
}

}  // namespace
}  // namespace tare::test
