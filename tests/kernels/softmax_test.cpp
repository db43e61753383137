// SPDX-License-Identifier: Apache-2.0
// Softmax against its reference.
#include "tare/kernels/softmax.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tare/core/error.h"

#include "tests/ref/softmax.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

OpCase forward(int64_t rows, int64_t C, const std::string& name, Maker make) {
  return {.name = "forward_" + name,
          .inputs = {{"x", {rows, C}, make}},
          .outputs = {{"y", {rows, C}}},
          .run = [](Tensors& in, Tensors& out) { kernels::softmax_forward(in[0], out[0]); },
          .ref = [=](const Operands& a) -> std::vector<Values> {
            return {ref::softmax_forward(a.in[0], rows, C)};
          },
          .flops = 5.0 * double(rows * C)};
}

OpCase backward(int64_t rows, int64_t C, Accum accum) {
  const bool add = accum == Accum::add;
  OpCase row{
      .name = "backward_" + std::to_string(rows) + "x" + std::to_string(C) + (add ? "_add" : "_set"),
      .inputs = {{"y", {rows, C}, uniform(0, 2.0 / double(C))}, {"dy", {rows, C}, normal()}},
      .outputs = {{"dx", {rows, C}}},
      .run = [=](Tensors& in, Tensors& out) { kernels::softmax_backward(in[0], in[1], out[0], accum); },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        Values dx = ref::softmax_backward(a.in[0], a.in[1], rows, C);
        for (size_t i = 0; i < dx.size() && add; ++i) dx[i] += a.before[0][i];
        return {dx};
      },
      .flops = 4.0 * double(rows * C)};
  if (add) row.outputs[0].make = normal();
  return row;
}

std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> rows;
  for (int64_t C : {1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 129}) {
    rows.push_back(forward(3, C, "3x" + std::to_string(C), normal(0, 3)));
    rows.push_back(backward(3, C, Accum::set));
    rows.push_back(backward(3, C, Accum::add));
  }
  const double inf = INFINITY;
  rows.push_back(forward(0, 5, "empty", normal()));
  rows.push_back(forward(517, 33, "many_rows", normal(0, 3)));
  rows.push_back(forward(4, 19, "steep", normal(0, 60)));
  rows.push_back(forward(4, 19, "shifted", normal(1000, 2)));
  rows.push_back(forward(2, 9, "nan", with(normal(), {0, NAN})));
  rows.push_back(forward(2, 9, "minus_infinity", with(normal(), {-inf, 1, -inf})));
  rows.push_back(backward(517, 33, Accum::set));
  return rows;
}

TARE_TEST_OP_CASES(Softmax, softmax_cases());

TEST(Softmax, works_in_place) {
  const Values x = rounded_to(DType::f32, normal()(4 * 17, 3));
  Tensor t = tensor_of(x, {4, 17}, DType::f32);
  kernels::softmax_forward(t, t);
  expect_close(t, ref::softmax_forward(x, 4, 17));
}

TEST(Softmax, names_what_is_wrong) {
  const Tensor x = Tensor::zeros({2, 3});
  Tensor y = Tensor::zeros({2, 4});
  try {
    kernels::softmax_forward(x, y);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("softmax_forward: y has shape (2, 4), expected (2, 3)"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace tare::test
