// SPDX-License-Identifier: Apache-2.0
// Gradients of picking by index and of the largest elements in f64, with repeated indices and for every
// layout.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

TEST(IndexOps, gradients_of_gather_and_index_select_are_right) {
  const Tensor x = tensor_of(normal()(2 * 3 * 4, 3), {2, 3, 4}, DType::f64);
  for (const Layout layout : kLayouts)
    for (int axis = 0; axis < 3; ++axis) {
      Shape shape{2, 3, 4};
      shape[axis] = 5;
      shape[(axis + 1) % 3] = 2;
      const Tensor index = tensor_of(indices(x.size(axis))(shape.numel(), 4), shape, DType::i64);
      const Tensor chosen = tensor_of(indices(x.size(axis))(7, 5), {7}, DType::i32);
      const Tensor in = with_layout(x, layout);
      EXPECT_EQ(
          gradcheck([&](const Vars& v) { return gather(v[0], axis - 3, with_layout(index, layout)); }, {in}),
          "")
          << axis << name_of(layout);
      EXPECT_EQ(
          gradcheck([&](const Vars& v) { return index_select(v[0], axis - 3, with_layout(chosen, layout)); },
                    {in}),
          "")
          << axis << name_of(layout);
    }
}

TEST(IndexOps, values_do_not_depend_on_the_layout) {
  const Tensor x = tensor_of(normal()(2 * 3 * 4, 3), {2, 3, 4}, DType::f32);
  const Tensor index = tensor_of(indices(3)(2 * 5 * 4, 4), {2, 5, 4}, DType::i64);
  const Values picked = gather(x, 1, index).value().to_vector<double>();
  for (const Layout layout : kLayouts)
    EXPECT_EQ(gather(with_layout(x, layout), 1, with_layout(index, layout)).value().to_vector<double>(),
              picked)
        << name_of(layout);
  const Tensor row = tensor_of({1, 2, 3}, {3}, DType::f32);
  const Tensor reversed = tensor_of({2, 1, 0, 1}, {1, 4}, DType::i64);
  EXPECT_EQ(gather(expand(row, {2, 3}), 1, expand(reversed, {2, 4}).value()).value().to_vector<double>(),
            (Values{3, 2, 1, 2, 3, 2, 1, 2}));
}

TEST(IndexOps, empty_ones_give_empty_results_and_zero_gradients) {
  const Var x = Var::parameter(tensor_of({1, 2, 3, 4}, {2, 2}, DType::f32));
  const Tensor none = Tensor::zeros({0}, {DType::i64, kCpu, {}});
  const Var y = index_select(x, 1, none);
  EXPECT_EQ(y.shape(), (Shape{2, 0}));
  backward(sum(y));
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{0, 0, 0, 0}));
  EXPECT_EQ(gather(x, 0, Tensor::zeros({0, 2}, {DType::i64, kCpu, {}})).shape(), (Shape{0, 2}));
}

TEST(IndexOps, axes_outside_the_shape_are_errors) {
  const Var x = Tensor::zeros({2, 3});
  const Tensor index = Tensor::zeros({2}, {DType::i64, kCpu, {}});
  EXPECT_ERROR(index_select(x, 2, index), "index_select");
  EXPECT_ERROR(gather(x, -3, index), "gather");
  EXPECT_ERROR(gather(x, 1, index), "index of shape (2) does not fit into (2, 3)");
}

}  // namespace
}  // namespace tare::test
