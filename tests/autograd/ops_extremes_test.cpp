// SPDX-License-Identifier: Apache-2.0
// The largest and smallest along an axis: shapes, values, positions, and gradients in f64 for every layout.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

using Integers = std::vector<int64_t>;

TEST(ExtremesOps, gradients_go_to_the_places_of_what_was_chosen) {
  const Tensor x = tensor_of(normal()(3 * 5 * 4, 3), {3, 5, 4}, DType::f64);
  for (const Layout layout : kLayouts)
    for (int axis = -3; axis < 3; ++axis)
      for (const bool keepdim : {false, true}) {
        const Tensor in = with_layout(x, layout);
        EXPECT_EQ(gradcheck([&](const Vars& v) { return topk(v[0], 2, axis).values; }, {in}), "");
        EXPECT_EQ(gradcheck([&](const Vars& v) { return max_with_index(v[0], axis, keepdim).values; }, {in}),
                  "");
        EXPECT_EQ(gradcheck([&](const Vars& v) { return min_with_index(v[0], axis, keepdim).values; }, {in}),
                  "");
      }
}

TEST(ExtremesOps, a_tie_gives_the_whole_gradient_to_the_first) {
  const Var x = Var::parameter(tensor_of({1, 5, 5, 7, 7, 2}, {2, 3}, DType::f32));
  backward(sum(max_with_index(x, 1).values));
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{0, 1, 0, 1, 0, 0}));
}

TEST(ExtremesOps, positions_and_shapes) {
  const Tensor x = tensor_of({1, 5, 5, 7, 2, 9}, {2, 3}, DType::f32);
  EXPECT_EQ(argmax(x, 1).to_vector<int64_t>(), (Integers{1, 2}));
  EXPECT_EQ(argmax(x, 0).to_vector<int64_t>(), (Integers{1, 0, 1}));
  EXPECT_EQ(argmax(x.transpose(0, 1), -2).to_vector<int64_t>(), (Integers{1, 2}));
  EXPECT_EQ(argmin(x, -1).to_vector<int64_t>(), (Integers{0, 1}));
  EXPECT_EQ(argmax(x, 1).shape(), (Shape{2}));
  EXPECT_EQ(argmax(x, 1, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(argmin(x, 0, true).shape(), (Shape{1, 3}));

  const Ranked largest = max_with_index(x, 0);
  EXPECT_EQ(largest.values.value().to_vector<double>(), (Values{7, 5, 9}));
  EXPECT_EQ(largest.indices.to_vector<int64_t>(), (Integers{1, 0, 1}));
  EXPECT_EQ(largest.values.shape(), largest.indices.shape());
  const Ranked integers = min_with_index(x.to(DType::i32), 1, true);
  EXPECT_EQ(integers.values.value().to_vector<int64_t>(), (Integers{1, 2}));
  EXPECT_EQ(integers.values.shape(), (Shape{2, 1}));
}

TEST(ExtremesOps, topk_ranks_along_any_axis) {
  const Tensor x = tensor_of({1, 5, 5, 7, 2, 9}, {2, 3}, DType::f32);
  const Ranked rows = topk(x, 2), columns = topk(x, 2, 0);
  EXPECT_EQ(rows.values.value().to_vector<double>(), (Values{5, 5, 9, 7}));
  EXPECT_EQ(rows.indices.to_vector<int64_t>(), (Integers{1, 2, 2, 0}));
  EXPECT_EQ(columns.values.value().to_vector<double>(), (Values{7, 5, 9, 1, 2, 5}));
  EXPECT_EQ(columns.indices.to_vector<int64_t>(), (Integers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(topk(x, 0).values.shape(), (Shape{2, 0}));
}

TEST(ExtremesOps, what_cannot_be_chosen_is_an_error_and_what_is_empty_beside_the_axis_is_not) {
  const Tensor x = Tensor::zeros({2, 0, 3});
  EXPECT_ERROR(argmax(x, 1), "argmax: shape (2, 0, 3) has no element to choose on axis 1");
  EXPECT_ERROR(min_with_index(x, -2), "min_with_index: shape (2, 0, 3) has no element to choose on axis 1");
  EXPECT_ERROR(topk(x, 1, 1), "topk: k is 1, but axis 1 of shape (2, 0, 3) has 0 elements");
  EXPECT_ERROR(topk(x, -1), "topk: k is -1");
  EXPECT_ERROR(argmax(x, 3), "argmax");
  EXPECT_EQ(argmax(x, 2).shape(), (Shape{2, 0}));
  EXPECT_EQ(max_with_index(x, 0).values.shape(), (Shape{0, 3}));
  EXPECT_EQ(topk(x, 2).values.shape(), (Shape{2, 0, 2}));
}

}  // namespace
}  // namespace tare::test
