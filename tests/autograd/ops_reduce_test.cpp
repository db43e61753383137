// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions in f64, over every set of axes and for every layout.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

using Reduction = Var (*)(const Var&, const Axes&, bool);

const std::pair<const char*, Reduction> kReductions[] = {
    {"sum", sum},
    {"mean", mean},
    {"max", max},
    {"min", min},
    {"variance",
     [](const Var& x, const Axes& axes, bool keepdim) { return variance(x, axes, true, keepdim); }},
    {"biased_variance",
     [](const Var& x, const Axes& axes, bool keepdim) { return variance(x, axes, false, keepdim); }}};

TEST(ReduceOps, gradients_are_right_over_every_axis_and_layout) {
  const Tensor x = tensor_of(normal()(2 * 3 * 4, 3), {2, 3, 4}, DType::f64);
  for (const auto& [name, op] : kReductions)
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{1}, Axes{-1}, Axes{0, 2}, Axes{-1, 1}, Axes{2, 0, 1}})
      for (const bool keepdim : {false, true})
        for (const Layout layout : kLayouts)
          EXPECT_EQ(
              gradcheck([&](const Vars& v) { return op(v[0], axes, keepdim); }, {with_layout(x, layout)}), "")
              << name << " " << axes.size() << " axes, " << name_of(layout);
}

TEST(ReduceOps, shapes_drop_or_keep_the_axes) {
  const Var x(Tensor::zeros({2, 3, 4}));
  for (const auto& [name, op] : kReductions) {
    EXPECT_EQ(op(x, {}, false).shape(), Shape{}) << name;
    EXPECT_EQ(op(x, {}, true).shape(), (Shape{1, 1, 1})) << name;
    EXPECT_EQ(op(x, {1}, false).shape(), (Shape{2, 4})) << name;
    EXPECT_EQ(op(x, {-1, 0}, true).shape(), (Shape{1, 3, 1})) << name;
  }
}

TEST(ReduceOps, ties_share_the_gradient) {
  const Var x = Var::parameter(tensor_of({3, 1, 3, 3}, {4}, DType::f64));
  backward(max(x));
  const double third = 1.0 / 3;
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{third, 0, third, third}));
}

TEST(ReduceOps, nan_wins_and_takes_the_gradient) {
  for (const auto op : {max, min}) {
    const Var x = Var::parameter(tensor_of({1, NAN, 2, NAN}, {4}, DType::f64));
    backward(op(x, {}, false));
    EXPECT_EQ(x.grad().to_vector<double>(), (Values{0, 0.5, 0, 0.5}));
  }
}

TEST(ReduceOps, half_types_are_summed_in_f32) {
  const Var x(Tensor::full({5000}, 1, {DType::bf16, kCpu, {}}));
  EXPECT_EQ(sum(x).value().item<double>(), 4992);  // 5000 rounded to bf16; a bf16 sum would stop at 256
  EXPECT_EQ(mean(x).value().item<double>(), 1);
}

TEST(ReduceOps, name_what_is_wrong) {
  const Var x(Tensor::zeros({2, 3}));
  EXPECT_ERROR(sum(x, {2}), "sum: axis 2 is out of range for 2 dimensions");
  EXPECT_ERROR(mean(x, {1, -1}), "mean: axis -1 is named twice");
  EXPECT_ERROR(max(Var(Tensor::zeros({0, 2})), {0}), "has no element to choose");
}

}  // namespace
}  // namespace tare::test
