// SPDX-License-Identifier: Apache-2.0
// One row of the table of kernel cases. A row says once what a call needs: its operands, how their values are
// drawn, the front, the reference, the cost. The same rows serve the test of the CPU twin, its CUDA twin and
// the benchmark.
//
//   OpCase{.name = "softmax_forward_3x7",
//          .inputs = {{"x", {3, 7}, normal()}},
//          .outputs = {{"y", {3, 7}}},
//          .run = [](Tensors& in, Tensors& out) { kernels::softmax_forward(in[0], out[0]); },
//          .ref = [](const Operands& a) -> std::vector<Values> { return {ref::softmax_forward(a.in[0], 3,
//          7)}; }, .flops = 5 * 21}
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "tare/autograd/var.h"

#include "tests/support/values.h"

namespace tare::test {

using Tensors = std::vector<Tensor>;

struct Operand {
  std::string name;
  Shape shape;
  Maker make = {};                  // an output that has one starts with these values: the kernel adds to it
  std::optional<DType> dtype = {};  // by default that of the case
};

// What a reference sees: every value as the kernel does, after rounding to the operand's dtype.
struct Operands {
  std::vector<Values> in;
  std::vector<Values> before;  // of the outputs; empty for one without a maker
  DType dtype;                 // of the case
};

inline const std::vector<DType> kFloating = {DType::f64, DType::f32, DType::f16, DType::bf16};

struct OpCase {
  std::string name;  // letters, digits and _; unique in its table
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  std::function<void(Tensors& in, Tensors& out)> run;
  std::function<std::vector<Values>(const Operands&)> ref;  // one per output, whole (before included)
  std::function<Var(const Vars& in)> var = {};  // the differentiable op of a forward row, for gradcheck
  std::vector<DType> dtypes = kFloating;
  double loosen = 1;  // factor on tolerance(dtype), with its reason
  const char* loosen_reason = "";
  std::optional<double> flops = {};  // what the front must state
  // Bytes the front must state; by default every input once, every output once, twice where it is added to.
  std::function<double(DType)> bytes = {};
  bool any_threads_same_bits = true;  // false where the GEMM library decides the order of sums
  std::vector<int64_t> misalign = {
      0, 1, 3};  // elements past a 64-byte boundary; {0} for a front that asks for alignment
};

std::ostream& operator<<(std::ostream& os, const OpCase& row);

// The values of the inputs (and of outputs that are added to), rounded to their dtypes.
Operands draw_operands(const OpCase& row, DType dtype, uint64_t seed = 1);
// The rows that have an op.
std::vector<OpCase> with_gradients(const std::vector<OpCase>& rows);
// a + b; b may be empty: what a reference gives for an output that is added to, or not.
Values plus(Values a, const Values& b);
double stated_bytes(const OpCase& row, DType dtype);

// gtest expectations about one row, in one dtype or in all of its dtypes.
// On guarded, aligned and misaligned buffers, with every instruction set: outputs are close to the reference,
// which notices spoiling; guards and inputs are untouched.
void expect_agrees_with_reference(const OpCase& row, DType dtype);
void expect_agrees_with_reference(const OpCase& row);
// 1, 2 and 3 threads, and a second run, give the same bits.
void expect_same_bits_with_any_threads(const OpCase& row, DType dtype);
void expect_same_bits_with_any_threads(const OpCase& row);
// The front states flops and bytes of the row; the same on meta, where nothing is computed.
void expect_stated_cost(const OpCase& row, DType dtype);
void expect_stated_cost(const OpCase& row);
// Gradients of row.var by central differences in f64, for every floating input. Passes when the row has no
// var.
void expect_gradcheck(const OpCase& row);

}  // namespace tare::test

// The tests of a table of rows: TARE_TEST_OP_CASES(Softmax, softmax_cases());
// clang-format off
#define TARE_TEST_OP_CASES(Family, table)                                                                  \
  class Family##Cases : public ::testing::TestWithParam<::tare::test::OpCase> {};                          \
  TEST_P(Family##Cases, agrees_with_reference) { ::tare::test::expect_agrees_with_reference(GetParam()); } \
  TEST_P(Family##Cases, same_bits_with_any_threads) {                                                      \
    ::tare::test::expect_same_bits_with_any_threads(GetParam());                                           \
  }                                                                                                        \
  TEST_P(Family##Cases, states_its_cost) { ::tare::test::expect_stated_cost(GetParam()); }                 \
  INSTANTIATE_TEST_SUITE_P(cases, Family##Cases, ::testing::ValuesIn(table),                               \
                           [](const auto& info) { return info.param.name; });                              \
  class Family##Gradients : public ::testing::TestWithParam<::tare::test::OpCase> {};                      \
  TEST_P(Family##Gradients, agree_with_differences) { ::tare::test::expect_gradcheck(GetParam()); }        \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Family##Gradients);                                        \
  INSTANTIATE_TEST_SUITE_P(cases, Family##Gradients,                                                       \
                           ::testing::ValuesIn(::tare::test::with_gradients(table)),                       \
                           [](const auto& info) { return info.param.name; })
// clang-format on
