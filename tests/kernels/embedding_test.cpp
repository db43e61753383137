// SPDX-License-Identifier: Apache-2.0
// Embedding against its reference.
#include "tare/kernels/embedding.h"

#include <gtest/gtest.h>

#include "tare/core/error.h"

#include "tests/ref/embedding.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

std::vector<int64_t> integers(const Values& values) { return {values.begin(), values.end()}; }

std::string size_name(int64_t n, int64_t V, int64_t C, DType ids) {
  return std::to_string(n) + "x" + std::to_string(C) + "_of_" + std::to_string(V) + "_" +
         std::string(name_of(ids));
}

OpCase forward(int64_t n, int64_t V, int64_t C, DType ids) {
  return {.name = "forward_" + size_name(n, V, C, ids),
          .inputs = {{"ids", {n}, indices(V), ids}, {"table", {V, C}, normal()}},
          .outputs = {{"y", {n, C}}},
          .run = [](Tensors& in, Tensors& out) { kernels::embedding_forward(in[0], in[1], out[0]); },
          .ref = [=](const Operands& a) -> std::vector<Values> {
            return {ref::embedding_forward(integers(a.in[0]), a.in[1], C)};
          },
          .flops = 0,
          .bytes = [=](DType dtype) { return double(n * size_of(ids) + 2 * n * C * size_of(dtype)); }};
}

OpCase backward(int64_t n, int64_t V, int64_t C, DType ids, Accum accum, bool f32_sums) {
  const bool add = accum == Accum::add;
  OpCase row{
      .name = "backward_" + size_name(n, V, C, ids) + (add ? "_add" : "_set") + (f32_sums ? "_f32" : ""),
      .inputs = {{"ids", {n}, indices(V), ids}, {"dy", {n, C}, normal()}},
      .outputs = {{"dtable", {V, C}}},
      .run = [=](Tensors& in, Tensors& out) { kernels::embedding_backward(in[0], in[1], out[0], accum); },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        Values dtable = ref::embedding_backward(integers(a.in[0]), a.in[1], V, C);
        for (size_t i = 0; i < a.before[0].size(); ++i) dtable[i] += a.before[0][i];
        return {dtable};
      },
      .flops = double(n * C),
      .bytes =
          [=](DType dtype) {
            const double wide = double(f32_sums && is_half(dtype) ? 4 : size_of(dtype));
            return double(n * size_of(ids) + n * C * size_of(dtype)) + 2.0 * double(n * C) * wide +
                   (add ? 0.0 : double(V * C) * wide);
          }};
  // A half table rounds after each contribution: tested apart, with ids that come once.
  row.dtypes =
      f32_sums ? std::vector{DType::f32, DType::f16, DType::bf16} : std::vector{DType::f64, DType::f32};
  if (f32_sums) row.outputs[0].dtype = DType::f32;
  if (add) row.outputs[0].make = normal();
  return row;
}

std::vector<OpCase> embedding_cases() {
  std::vector<OpCase> rows;
  for (DType ids : {DType::i64, DType::i32, DType::u8}) {
    rows.push_back(forward(0, 3, 4, ids));
    rows.push_back(forward(1, 1, 1, ids));
    rows.push_back(forward(23, 11, 37, ids));
    for (Accum accum : {Accum::set, Accum::add}) {
      rows.push_back(backward(0, 3, 4, ids, accum, false));
      rows.push_back(backward(13, 7, 37, ids, accum, false));
      rows.push_back(backward(13, 7, 37, ids, accum, true));
      OpCase half = backward(5, 9, 37, ids, accum, false);
      half.inputs[0].make = given({8, 3, 0, 7, 4});
      half.dtypes = {DType::f16, DType::bf16};
      rows.push_back(half);
    }
  }
  rows.push_back(backward(700, 50, 67, DType::i64, Accum::set, true));
  rows.push_back(forward(700, 50, 67, DType::i64));
  return rows;
}

TARE_TEST_OP_CASES(Embedding, embedding_cases());

TEST(Embedding, an_id_outside_the_table_is_an_error_that_names_it) {
  const Tensor table = Tensor::zeros({5, 2});
  Tensor y = Tensor::zeros({2, 2, 2});
  for (int64_t bad : {5, -1}) {
    const Tensor ids = Tensor::from_vector<int64_t>({0, 4, bad, 9}, {2, 2});
    const std::string wanted = "id " + std::to_string(bad) + " at position 2 is outside the table's 5 rows";
    try {
      kernels::embedding_forward(ids, table, y);
      FAIL() << "accepted";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(wanted), std::string::npos) << e.what();
    }
    Tensor dtable = Tensor::zeros({5, 2});
    EXPECT_THROW(kernels::embedding_backward(ids, y, dtable, Accum::set), Error);
  }
}

TEST(Embedding, a_scalar_id_gives_one_row) {
  const Tensor table = Tensor::randn({5, 3}, 1);
  Tensor y = Tensor::empty({3});
  kernels::embedding_forward(Tensor::full({}, 4, {DType::i32, kCpu, {}}), table, y);
  EXPECT_EQ(y.to_vector<float>(), table.select(0, 4).to_vector<float>());
}

}  // namespace
}  // namespace tare::test
