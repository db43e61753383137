// SPDX-License-Identifier: Apache-2.0
// Gradients of convolution by central differences, and what it keeps for them.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

Tensor random(const Shape& shape, uint64_t seed) {
  return Tensor::randn(shape, seed, {DType::f64, kCpu, {}});
}

TEST(Conv2dOp, gradients_agree_with_differences) {
  for (const Conv2dOptions& options : {Conv2dOptions{}, Conv2dOptions{.stride = {2, 3}, .padding = {1, 0}},
                                       Conv2dOptions{.stride = 2, .padding = {0, 2}, .dilation = {1, 2}}}) {
    const auto f = [&](const Vars& v) { return conv2d(v[0], v[1], v.size() > 2 ? v[2] : Var(), options); };
    const Tensor x = random({2, 2, 5, 4}, 1), w = random({3, 2, 3, 2}, 2), bias = random({3}, 3);
    EXPECT_EQ(gradcheck(f, {x, w}), "");
    for (const Layout l : kLayouts)
      EXPECT_EQ(gradcheck(f, {with_layout(x, l), with_layout(w, l), with_layout(bias, l)}), "") << name_of(l);
    EXPECT_EQ(gradcheck(f, {random({0, 2, 5, 4}, 1), w, bias}), "");
    for (size_t one = 0; one < 3; ++one) {
      std::vector<bool> wanted(3);
      wanted[one] = true;
      EXPECT_EQ(gradcheck(f, {x, w, bias}, {.wanted = wanted}), "");
    }
  }
}

TEST(Conv2dOp, keeps_only_what_a_wanted_gradient_needs) {
  const auto activations = [] { return ledger(kCpu).current()[size_t(Category::activations)]; };
  const int64_t before = activations();
  Var w = Var::parameter(random({4, 3, 2, 2}, 2));
  const Tensor images = random({2, 3, 8, 8}, 1);
  {
    const Var y = conv2d(images, w, {}, {.stride = 2});
    EXPECT_EQ(activations() - before, 2 * 3 * 8 * 8 * 8) << "the images";
  }
  w.set_requires_grad(false);
  Var x(images);
  x.set_requires_grad(true);
  const int64_t frozen = activations();
  const Var y = conv2d(x, w, {}, {.stride = 2});
  EXPECT_EQ(activations() - frozen, 0) << "a parameter stays one";
}

TEST(Conv2dOp, runs_on_meta_with_the_same_scratch) {
  const auto workspace = [](Device device) {
    ledger(device).reset_peaks();
    const TensorOptions f32{DType::f32, device, {}};
    Var x(Tensor::zeros({2, 3, 9, 8}, f32));
    Var w = Var::parameter(Tensor::zeros({4, 3, 3, 3}, f32)), bias = Var::parameter(Tensor::zeros({4}, f32));
    x.set_requires_grad(true);
    const Var y = conv2d(x, w, bias, {.stride = 2, .padding = 1});
    EXPECT_EQ(y.shape(), (Shape{2, 4, 5, 4}));
    backward(y, {.seed = Tensor::zeros(y.shape(), f32)});
    for (const Var& v : {x, w, bias}) EXPECT_EQ(v.grad().shape(), v.shape());
    return ledger(device).report().own_peak[size_t(Category::workspace)];
  };
  EXPECT_GT(workspace(kMeta), 0);
  EXPECT_EQ(workspace(kMeta), workspace(kCpu));
}

TEST(Conv2dOp, names_what_does_not_fit) {
  EXPECT_ERROR(conv2d(random({2, 3, 8, 8}, 1), random({4, 1, 3, 3}, 2)), "conv2d", "3 channels", "takes 1");
  EXPECT_ERROR(conv2d(random({2, 3, 2, 8}, 1), random({4, 3, 3, 3}, 2)), "conv2d", "spans 3", "has 2");
  EXPECT_ERROR(conv2d(random({3, 8, 8}, 1), random({4, 3, 3, 3}, 2)), "conv2d", "(3, 8, 8)");
  EXPECT_ERROR(conv2d(random({2, 3, 8, 8}, 1), Tensor::zeros({4, 3, 3, 3})), "conv2d", "f32", "f64");
}

}  // namespace
}  // namespace tare::test
