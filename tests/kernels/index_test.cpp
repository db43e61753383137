// SPDX-License-Identifier: Apache-2.0
// Picking by index and joining, against their references.
#include "tare/kernels/index.h"

#include <gtest/gtest.h>

#include "tare/kernels/join.h"

#include "tests/ref/embedding.h"
#include "tests/support/expect_error.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

Shape tare_shape(const ref::Shape& s) { return Shape(std::span<const int64_t>(s)); }

std::vector<int64_t> integers(const Values& v) { return {v.begin(), v.end()}; }

// One call of gather, or of index_select, whose index has one axis.
struct Pick {
  std::string name;
  ref::Shape x, index;
  int axis;
  DType index_dtype = DType::i64;
  bool select = false;

  ref::Shape y() const {
    if (!select) return index;
    ref::Shape shape = x;
    shape[size_t(axis)] = index[0];
    return shape;
  }
  std::vector<int64_t> positions(const Values& at) const {
    return select ? ref::index_select_positions(integers(at), x, axis)
                  : ref::gather_positions(integers(at), index, x, axis);
  }
  Operand index_operand() const {
    return {"index", tare_shape(index), indices(x[size_t(axis)]), index_dtype};
  }
  double index_bytes() const { return 2 * double(ref::numel(index) * size_of(index_dtype)); }
  double count() const { return double(ref::numel(y())); }
};

OpCase forward(const Pick& p) {
  return {.name = p.name + "_forward",
          .inputs = {{"x", tare_shape(p.x), normal()}, p.index_operand()},
          .outputs = {{"y", tare_shape(p.y())}},
          .run =
              [p](Tensors& in, Tensors& out) {
                p.select ? kernels::index_select_forward(in[0], p.axis, in[1], out[0])
                         : kernels::gather_forward(in[0], p.axis, in[1], out[0]);
              },
          .ref = [p](const Operands& o) -> std::vector<Values> {
            return {ref::take(o.in[0], p.positions(o.in[1]))};
          },
          .flops = 0,
          .bytes = [p](DType dtype) { return p.index_bytes() + 2 * p.count() * double(size_of(dtype)); }};
}

OpCase backward(const Pick& p, Accum accum, bool f32_sums) {
  const bool add = accum == Accum::add;
  OpCase row{.name = p.name + "_backward_" + (add ? "add" : "set") + (f32_sums ? "_f32" : ""),
             .inputs = {p.index_operand(), {"dy", tare_shape(p.y()), normal()}},
             .outputs = {{"dx", tare_shape(p.x), add ? normal() : Maker()}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   p.select ? kernels::index_select_backward(p.axis, in[0], in[1], out[0], accum)
                            : kernels::gather_backward(p.axis, in[0], in[1], out[0], accum);
                 },
             .ref = [=](const Operands& o) -> std::vector<Values> {
               return {plus(ref::take_backward(o.in[1], p.positions(o.in[0]), ref::numel(p.x)), o.before[0])};
             },
             .flops = p.count(),
             .bytes =
                 [=](DType dtype) {
                   const double wide = double(f32_sums && is_half(dtype) ? 4 : size_of(dtype));
                   return p.index_bytes() + p.count() * double(size_of(dtype)) + 2 * p.count() * wide +
                          (add ? 0 : double(ref::numel(p.x)) * wide);
                 }};
  // Half sums round after each contribution: tested apart, with an index that repeats nothing.
  row.dtypes =
      f32_sums ? std::vector{DType::f32, DType::f16, DType::bf16} : std::vector{DType::f64, DType::f32};
  if (f32_sums) row.outputs[0].dtype = DType::f32;
  return row;
}

std::vector<OpCase> index_cases() {
  std::vector<OpCase> rows;
  for (const Pick& p : {Pick{"gather_rows", {64, 40}, {64, 700}, 1},
                        {"gather_one_of_each_row", {300, 50}, {290, 1}, 1, DType::i32},
                        {"gather_columns", {5, 700}, {33, 690}, 0, DType::i32},
                        {"gather_middle", {4, 3, 50}, {4, 7, 41}, 1},
                        {"gather_first_of_three", {3, 4, 50}, {9, 2, 41}, 0, DType::u8},
                        {"gather_one_axis", {37}, {61}, 0},
                        {"gather_nothing", {4, 3}, {0, 3}, 0},
                        {"select_first", {9, 300}, {77}, 0, DType::i64, true},
                        {"select_middle", {3, 5, 1100}, {16}, 1, DType::i32, true},
                        {"select_last", {300, 7}, {40}, 1, DType::i64, true},
                        {"select_before_ones", {30, 7, 1}, {11}, 1, DType::u8, true},
                        {"select_one_axis", {70}, {40}, 0, DType::i64, true},
                        {"select_nothing", {3, 7}, {0}, 1, DType::i64, true}}) {
    rows.push_back(forward(p));
    for (const Accum accum : {Accum::set, Accum::add}) {
      rows.push_back(backward(p, accum, false));
      rows.push_back(backward(p, accum, true));
    }
  }
  for (OpCase half : {backward({"half_gather", {2, 7}, {2, 3}, 1}, Accum::add, false),
                      backward({"half_select", {7, 40}, {3}, 0, DType::i64, true}, Accum::add, false)}) {
    half.inputs[0].make = given({6, 0, 4});
    half.dtypes = {DType::f16, DType::bf16};
    rows.push_back(half);
  }
  for (OpCase integer : {forward({"integer_gather", {9, 40}, {9, 31}, 1}),
                         forward({"integer_select_elements", {9, 40}, {31}, 1, DType::i64, true}),
                         forward({"integer_select_slices", {9, 40}, {31}, 0, DType::i64, true})}) {
    integer.inputs[0].make = indices(200);
    integer.dtypes = {DType::i64, DType::i32, DType::u8};
    rows.push_back(integer);
    integer.name += "_bool";
    integer.inputs[0].make = mask(0.5);
    integer.dtypes = {DType::boolean};
    rows.push_back(integer);
  }
  return rows;
}

TARE_TEST_OP_CASES(Index, index_cases());

OpCase cat_row(int axis, const std::vector<ref::Shape>& shapes) {
  OpCase row;
  row.name = "cat_axis" + std::to_string(axis) + "_of_" + std::to_string(shapes.size());
  ref::Shape y = shapes[0];
  y[size_t(axis)] = 0;
  for (const ref::Shape& s : shapes) {
    row.inputs.push_back({"x", tare_shape(s), normal()});
    y[size_t(axis)] += s[size_t(axis)];
  }
  row.outputs = {{"y", tare_shape(y)}};
  row.run = [=](Tensors& in, Tensors& out) { kernels::cat_forward(in, axis, out[0]); };
  row.ref = [=](const Operands& o) -> std::vector<Values> { return {ref::cat(o.in, shapes, axis)}; };
  row.flops = 0;
  return row;
}

std::vector<OpCase> cat_cases() {
  return {cat_row(0, {{3, 50}, {1, 50}, {4, 50}}), cat_row(1, {{30, 5}, {30, 3}}),
          cat_row(1, {{3, 5, 40}, {3, 0, 40}, {3, 2, 40}, {3, 1, 40}})};
}

TARE_TEST_OP_CASES(Join, cat_cases());

TEST(Index, one_that_is_outside_is_an_error_that_names_it) {
  const Tensor x = Tensor::zeros({2, 3});
  const Tensor far = tensor_of({0, 3}, {2}, DType::i64), negative = tensor_of({0, -1}, {2, 1}, DType::i32);
  const Tensor row = tensor_of({0, 1, 5}, {1, 3}, DType::u8);
  Tensor two = Tensor::zeros({2, 2}), column = Tensor::zeros({2, 1}), wide = Tensor::zeros({1, 3});
  EXPECT_ERROR(kernels::index_select_forward(x, 1, far, two),
               "index_select_forward: index 3 at position (1) is outside [0, 3), the extent of the axis");
  EXPECT_ERROR(kernels::gather_forward(x, 1, negative, column),
               "gather_forward: index -1 at position (1, 0) is outside [0, 3)");
  EXPECT_ERROR(kernels::gather_forward(x, 0, row, wide), "index 5 at position (0, 2) is outside [0, 2)");
  EXPECT_ERROR(kernels::gather_forward(Tensor::zeros({2, 0}), 1, negative, column),
               "index 0 at position (0, 0) is outside [0, 0)");
  for (const int64_t extreme : {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    EXPECT_ERROR(kernels::index_select_forward(x, 1, Tensor::from_vector<int64_t>({2, extreme}, {2}), two),
                 "index " + std::to_string(extreme) + " at position (1)");
}

TEST(Index, the_first_that_is_outside_is_named_with_any_threads_and_nothing_is_written) {
  std::vector<int64_t> many(40000, 1);
  many[31000] = 9;
  many[39000] = -4;
  const Tensor index = Tensor::from_vector(many, {40000}), dy = Tensor::full({40000, 2}, 1);
  Tensor dx = Tensor::full({3, 2}, 7), dx1 = Tensor::full({3}, 7);
  for (const Accum accum : {Accum::set, Accum::add}) {
    EXPECT_ERROR(kernels::index_select_backward(0, index, dy, dx, accum),
                 "index_select_backward: index 9 at position (31000) is outside [0, 3)");
    EXPECT_ERROR(kernels::gather_backward(0, index, dy.select(1, 0).contiguous(), dx1, accum),
                 "gather_backward: index 9 at position (31000) is outside [0, 3)");
  }
  EXPECT_EQ(dx.to_vector<double>(), Values(6, 7));
  EXPECT_EQ(dx1.to_vector<double>(), Values(3, 7));
}

TEST(Index, operands_that_do_not_fit_are_errors) {
  const Tensor x = Tensor::zeros({2, 3}), index = Tensor::zeros({2, 1}, {DType::i64, kCpu, {}});
  Tensor column = Tensor::zeros({2, 1}), far = Tensor::zeros({3, 1}, {DType::i64, kCpu, {}});
  EXPECT_ERROR(kernels::gather_forward(x, 1, column, column), "index is f32, expected i64, i32 or u8");
  EXPECT_ERROR(kernels::gather_forward(x, 2, index, column), "axis 2 of shape (2, 3)");
  EXPECT_ERROR(kernels::gather_forward(x, 1, far, column), "index of shape (3, 1) does not fit into (2, 3)");
  EXPECT_ERROR(kernels::index_select_forward(x, 1, index, column), "index has shape (2, 1)");
  Tensor half = Tensor::zeros({2, 3}, {DType::f16, kCpu, {}});
  EXPECT_ERROR(kernels::gather_backward(1, index, column, half, Accum::set), "dx is f16, expected f32");
}

}  // namespace
}  // namespace tare::test
