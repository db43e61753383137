// SPDX-License-Identifier: Apache-2.0
// Every operation on leaves of half type: their gradients are f32 and near those of the same values in f64.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tare/autograd/ops.h"
#include "tare/core/random_scope.h"

#include "tests/support/values.h"

namespace tare::test {
namespace {

struct Row {
  const char* name;
  std::vector<Shape> shapes;  // of the leaves, whose values are in [0.5, 2)
  std::function<Var(const Vars&)> f;
};

void PrintTo(const Row& row, std::ostream* os) { *os << row.name; }

Tensor ids(const Shape& shape) { return tensor_of(indices(4)(shape.numel(), 3), shape, DType::i64); }
Tensor mask(const Shape& shape) {
  return tensor_of(indices(2)(shape.numel(), 5), shape, DType::i64).to(DType::boolean);
}

template <class F> Row unary_row(const char* name, F f) {
  return {name, {{3, 5}}, [f](const Vars& v) { return f(v[0]); }};
}

// Two operands, the second broadcast.
template <class F> Row binary_row(const char* name, F f) {
  return {name, {{3, 5}, {5}}, [f](const Vars& v) { return f(v[0], v[1]); }};
}

std::vector<Row> elementwise_rows() {
  return {
      unary_row("abs", [](const Var& x) { return abs(x); }),
      unary_row("square", [](const Var& x) { return square(x); }),
      unary_row("reciprocal", [](const Var& x) { return reciprocal(x); }),
      unary_row("exp", [](const Var& x) { return exp(x); }),
      unary_row("log", [](const Var& x) { return log(x); }),
      unary_row("sqrt", [](const Var& x) { return sqrt(x); }),
      unary_row("rsqrt", [](const Var& x) { return rsqrt(x); }),
      unary_row("tanh", [](const Var& x) { return tanh(x); }),
      unary_row("erf", [](const Var& x) { return erf(x); }),
      unary_row("sigmoid", [](const Var& x) { return sigmoid(x); }),
      unary_row("relu", [](const Var& x) { return relu(x); }),
      unary_row("silu", [](const Var& x) { return silu(x); }),
      unary_row("gelu_tanh", [](const Var& x) { return gelu_tanh(x); }),
      unary_row("gelu_erf", [](const Var& x) { return gelu_erf(x); }),
      unary_row("pow_scalar", [](const Var& x) { return pow(x, 1.5); }),
      unary_row("clamp", [](const Var& x) { return clamp(x, 0.75, 1.5); }),
      unary_row("negate", [](const Var& x) { return -x; }),
      unary_row("add_scalar", [](const Var& x) { return 2 + (x + 0.5); }),
      unary_row("sub_scalar", [](const Var& x) { return 2 - (x - 0.5); }),
      unary_row("mul_scalar", [](const Var& x) { return 2 * (x * 0.75); }),
      unary_row("div_scalar", [](const Var& x) { return 2 / (x / 0.75); }),
      binary_row("add", [](const Var& a, const Var& b) { return a + b; }),
      binary_row("sub", [](const Var& a, const Var& b) { return a - b; }),
      binary_row("mul", [](const Var& a, const Var& b) { return a * b; }),
      binary_row("div", [](const Var& a, const Var& b) { return a / b; }),
      binary_row("pow", [](const Var& a, const Var& b) { return pow(a, b); }),
      binary_row("maximum", [](const Var& a, const Var& b) { return maximum(a, b); }),
      binary_row("minimum", [](const Var& a, const Var& b) { return minimum(a, b); }),
      binary_row("where",
                 [](const Var& a, const Var& b) {
                   return where(mask({3, 5}), a, b);
                 }),
      unary_row("masked_fill", [](const Var& x) { return masked_fill(x, mask({5}), 7); }),
  };
}

std::vector<Row> shape_rows() {
  return {
      unary_row("sum", [](const Var& x) { return sum(x); }),
      unary_row("sum_of_rows", [](const Var& x) { return sum(x, {1}); }),
      unary_row("mean", [](const Var& x) { return mean(x, {0}); }),
      unary_row("max", [](const Var& x) { return max(x, {1}); }),
      unary_row("min", [](const Var& x) { return min(x, {1}, true); }),
      unary_row("variance", [](const Var& x) { return variance(x, {1}); }),
      unary_row("view",
                [](const Var& x) {
                  return view(x, {5, 3});
                }),
      unary_row("reshape", [](const Var& x) { return reshape(transpose(x, 0, 1), {15}); }),
      unary_row("contiguous", [](const Var& x) { return contiguous(transpose(x, 0, 1)); }),
      unary_row("permute",
                [](const Var& x) {
                  return permute(x, {1, 0});
                }),
      unary_row("expand",
                [](const Var& x) {
                  return expand(x, {2, 3, 5});
                }),
      unary_row("unsqueeze", [](const Var& x) { return squeeze(unsqueeze(x, 1), 1); }),
      unary_row("slice", [](const Var& x) { return slice(x, 1, 1, 5, 2); }),
      unary_row("select", [](const Var& x) { return select(x, 0, 1); }),
      unary_row("split",
                [](const Var& x) {
                  return split(x, 1, {2, 3})[1];
                }),
      binary_row("cat",
                 [](const Var& a, const Var& b) {
                   return cat({a, view(b, {1, 5})}, 0);
                 }),
      binary_row("stack",
                 [](const Var& a, const Var& b) {
                   return stack({select(a, 0, 1), b}, 1);
                 }),
      unary_row("to", [](const Var& x) { return to(x, DType::f64); }),
  };
}

std::vector<Row> row_rows() {
  return {
      {"embedding",
       {{4, 3}},
       [](const Vars& v) {
         return embedding(ids({2, 5}), v[0]);
       }},
      unary_row("softmax", [](const Var& x) { return softmax(x); }),
      {"layernorm", {{3, 8}, {8}, {8}}, [](const Vars& v) { return layernorm(v[0], v[1], v[2]); }},
      {"rmsnorm", {{3, 8}, {8}}, [](const Vars& v) { return rmsnorm(v[0], v[1]); }},
      unary_row("dropout", [](const Var& x) { return dropout(x, 0.5); }),
      {"cross_entropy", {{6, 4}}, [](const Vars& v) { return cross_entropy(v[0], ids({6})).sum; }},
      {"linear_cross_entropy",
       {{6, 3}, {4, 3}},
       [](const Vars& v) { return linear_cross_entropy(v[0], v[1], ids({6})).sum; }},
  };
}

std::vector<Row> product_rows() {
  const auto out_in = WeightLayout::out_in, in_out = WeightLayout::in_out;
  return {
      {"matmul", {{2, 3, 5}, {2, 5, 4}}, [](const Vars& v) { return matmul(v[0], v[1]); }},
      {"matmul_of_one_matrix", {{2, 3, 5}, {5, 4}}, [](const Vars& v) { return matmul(v[0], v[1]); }},
      {"matmul_broadcast", {{1, 3, 5}, {2, 5, 4}}, [](const Vars& v) { return matmul(v[0], v[1]); }},
      {"bmm", {{2, 3, 5}, {2, 5, 4}}, [](const Vars& v) { return bmm(v[0], v[1]); }},
      {"linear", {{2, 3, 5}, {4, 5}, {4}}, [](const Vars& v) { return linear(v[0], v[1], v[2]); }},
      {"linear_in_out",
       {{2, 3, 5}, {5, 4}, {4}},
       [=](const Vars& v) { return linear(v[0], v[1], v[2], in_out); }},
      {"gelu_tanh_linear",
       {{3, 5}, {4, 5}, {4}},
       [=](const Vars& v) { return gelu_tanh_linear(v[0], v[1], v[2], out_in); }},
      {"gelu_erf_linear",
       {{3, 5}, {5, 4}, {4}},
       [=](const Vars& v) { return gelu_erf_linear(v[0], v[1], v[2], in_out); }},
      {"layernorm_linear",
       {{3, 8}, {8}, {8}, {4, 8}, {4}},
       [=](const Vars& v) { return layernorm_linear(v[0], v[1], v[2], 1e-5, v[3], v[4], out_in); }},
      {"attention",
       {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}},
       [](const Vars& v) { return attention(v[0], v[1], v[2], {.causal = true, .dropout = 0.3}); }},
      {"packed_attention",
       {{1, 3, 24}},
       [](const Vars& v) { return packed_attention(v[0], 2, {.dropout = 0.3}); }},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& table : {elementwise_rows(), shape_rows(), row_rows(), product_rows()})
    rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

// The gradients of f, contracted with a dy that is the same in every dtype, after `passes` backward passes.
std::vector<Tensor> gradients(const Row& row, const std::vector<Tensor>& values, DType rounding, int passes) {
  Vars leaves;
  for (const Tensor& value : values) leaves.push_back(Var::parameter(value.clone()));
  for (int pass = 0; pass < passes; ++pass) {
    const RandomScope random({.seed = 3, .update = 4});
    const Var y = row.f(leaves);
    const Tensor dy = Tensor::randn(y.shape(), 7, {rounding, kCpu, {}}).to(y.dtype());
    backward(y, {.seed = dy});
  }
  std::vector<Tensor> all;
  for (const Var& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

double relative_l2(const Tensor& a, const std::vector<double>& b, double factor) {
  const auto x = a.to_vector<double>();
  double difference = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (x[i] - factor * b[i]) * (x[i] - factor * b[i]);
    norm += factor * b[i] * factor * b[i];
  }
  return std::sqrt(difference / norm);
}

class HalfLeaf : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Ops, HalfLeaf, testing::ValuesIn(all_rows()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(HalfLeaf, HasTheGradientOfTheSameValuesInF64) {
  const Row& row = GetParam();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SCOPED_TRACE(name_of(dtype));
    std::vector<Tensor> half, exact;
    for (size_t i = 0; i < row.shapes.size(); ++i) {
      Tensor value = Tensor::empty(row.shapes[i], {DType::f64, kCpu, {}});
      fill_uniform(value, 0.5, 2, {1, i});
      half.push_back(value.to(dtype));
      exact.push_back(half.back().to(DType::f64));
    }
    const auto want = gradients(row, exact, dtype, 1);
    for (const int passes : {1, 2}) {
      const auto got = gradients(row, half, dtype, passes);
      for (size_t i = 0; i < got.size(); ++i) {
        SCOPED_TRACE("leaf " + std::to_string(i) + ", passes " + std::to_string(passes));
        ASSERT_TRUE(got[i].defined());
        EXPECT_EQ(got[i].dtype(), DType::f32);
        EXPECT_EQ(got[i].shape(), row.shapes[i]);
        // A few roundings to the half type, of y, of what stands between and of dx; a softmax or a norm then
        // subtracts numbers that are nearly equal.
        const double unit = dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
        EXPECT_LE(relative_l2(got[i], want[i].to_vector<double>(), passes), 16 * unit);
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
