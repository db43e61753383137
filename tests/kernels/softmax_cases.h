// SPDX-License-Identifier: Apache-2.0
// The rows of softmax: for the CPU twin, the CUDA twin, gradcheck and the benchmark.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tare/autograd/ops.h"
#include "tare/kernels/softmax.h"

#include "tests/ref/softmax.h"
#include "tests/support/op_case.h"

namespace tare::test {

inline OpCase softmax_forward_case(int64_t rows, int64_t C, const std::string& name, Maker make) {
  return {.name = "forward_" + name,
          .inputs = {{"x", {rows, C}, make}},
          .outputs = {{"y", {rows, C}}},
          .run = [](Tensors& in, Tensors& out) { kernels::softmax_forward(in[0], out[0]); },
          .ref = [=](const Operands& a) -> std::vector<Values> {
            return {ref::softmax_forward(a.in[0], rows, C)};
          },
          .var = [](const Vars& in) { return softmax(in[0]); },
          .flops = 5.0 * double(rows * C)};
}

inline OpCase softmax_backward_case(int64_t rows, int64_t C, Accum accum) {
  const bool add = accum == Accum::add;
  OpCase row{
      .name = "backward_" + std::to_string(rows) + "x" + std::to_string(C) + (add ? "_add" : "_set"),
      .inputs = {{"y", {rows, C}, uniform(0, 2.0 / double(C))}, {"dy", {rows, C}, normal()}},
      .outputs = {{"dx", {rows, C}}},
      .run = [=](Tensors& in, Tensors& out) { kernels::softmax_backward(in[0], in[1], out[0], accum); },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        return {plus(ref::softmax_backward(a.in[0], a.in[1], rows, C), a.before[0])};
      },
      .flops = 4.0 * double(rows * C)};
  if (add) row.outputs[0].make = normal();
  return row;
}

inline std::vector<OpCase> softmax_cases() {
  std::vector<OpCase> rows;
  for (int64_t C : {1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 129}) {
    rows.push_back(softmax_forward_case(3, C, "3x" + std::to_string(C), normal(0, 3)));
    rows.push_back(softmax_backward_case(3, C, Accum::set));
    rows.push_back(softmax_backward_case(3, C, Accum::add));
  }
  rows.push_back(softmax_forward_case(0, 5, "empty", normal()));
  rows.push_back(softmax_forward_case(517, 33, "many_rows", normal(0, 3)));
  rows.back().var = {};  // differences of each element would take long
  rows.push_back(softmax_forward_case(4, 19, "steep", normal(0, 60)));
  rows.push_back(softmax_forward_case(4, 19, "shifted", normal(1000, 2)));
  for (const auto& [name, special] : {std::pair{"nan", NAN}, std::pair{"minus_infinity", -INFINITY}}) {
    rows.push_back(softmax_forward_case(2, 9, name, with(normal(), {special, 1, special})));
    rows.back().var = {};  // no finite difference there
  }
  rows.push_back(softmax_backward_case(517, 33, Accum::set));
  for (int64_t C : {1032, 2049}) {  // longer than what a GPU gives to one warp
    rows.push_back(softmax_forward_case(2, C, "2x" + std::to_string(C), normal(0, 3)));
    rows.back().var = {};  // differences of each element would take long
    rows.push_back(softmax_backward_case(2, C, Accum::add));
  }
  return rows;
}

}  // namespace tare::test
