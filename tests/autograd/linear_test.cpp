// SPDX-License-Identifier: Apache-2.0
// Gradients of products and linear layers by central differences, in every layout of the operands.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/values.h"

namespace tare::test {
namespace {

Tensor random(const Shape& shape, uint64_t seed) {
  return Tensor::randn(shape, seed, {DType::f64, kCpu, {}});
}

TEST(MatmulOp, gradients_agree_with_differences) {
  const auto f = [](const Vars& v) { return matmul(v[0], v[1]); };
  EXPECT_EQ(gradcheck(f, {random({3, 4}, 1), random({4, 5}, 2)}), "");
  EXPECT_EQ(gradcheck(f, {random({2, 3, 4}, 1), random({4, 5}, 2)}), "");
  EXPECT_EQ(gradcheck(f, {random({3, 4}, 1), random({2, 4, 5}, 2)}), "");
  EXPECT_EQ(gradcheck(f, {random({2, 1, 3, 4}, 1), random({3, 4, 2}, 2)}), "");
  EXPECT_EQ(gradcheck(f, {random({1, 1}, 1), random({1, 1}, 2)}), "");
  EXPECT_EQ(gradcheck(f, {random({0, 4}, 1), random({4, 5}, 2)}), "");
  EXPECT_EQ(gradcheck(f, {random({3, 4}, 1), random({4, 5}, 2)}, {.wanted = {false, true}}), "");
  EXPECT_EQ(gradcheck(f, {random({3, 4}, 1), random({4, 5}, 2)}, {.wanted = {true, false}}), "");
}

TEST(MatmulOp, operands_of_any_layout_give_the_same_gradients) {
  const auto f = [](const Vars& v) { return matmul(v[0], v[1]); };
  for (const Layout a : kLayouts)
    for (const Layout b : kLayouts)
      EXPECT_EQ(gradcheck(f, {with_layout(random({2, 3, 4}, 1), a), with_layout(random({2, 4, 5}, 2), b)}),
                "")
          << name_of(a) << " " << name_of(b);
}

TEST(MatmulOp, bmm_refuses_batches_that_would_broadcast) {
  EXPECT_EQ(
      gradcheck([](const Vars& v) { return bmm(v[0], v[1]); }, {random({2, 3, 4}, 1), random({2, 4, 5}, 2)}),
      "");
  EXPECT_THROW(bmm(random({1, 3, 4}, 1), random({2, 4, 5}, 2)), Error);
}

TEST(LinearOp, gradients_agree_with_differences_in_both_layouts) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    const auto f = [layout](const Vars& v) {
      return linear(v[0], v[1], v.size() > 2 ? v[2] : Var(), layout);
    };
    const Shape w = layout == WeightLayout::out_in ? Shape{5, 4} : Shape{4, 5};
    for (const Layout l : kLayouts) {
      EXPECT_EQ(gradcheck(f, {with_layout(random({2, 3, 4}, 1), l), with_layout(random(w, 2), l),
                              with_layout(random({5}, 3), l)}),
                "")
          << name_of(l);
    }
    EXPECT_EQ(gradcheck(f, {random({4}, 1), random(w, 2)}), "");
    EXPECT_EQ(gradcheck(f, {random({0, 4}, 1), random(w, 2), random({5}, 3)}), "");
    for (int one = 0; one < 3; ++one) {
      std::vector<bool> wanted(3);
      wanted[size_t(one)] = true;
      EXPECT_EQ(gradcheck(f, {random({3, 4}, 1), random(w, 2), random({5}, 3)}, {.wanted = wanted}), "");
    }
  }
}

TEST(LinearOp, saves_only_what_a_wanted_gradient_needs) {
  const int64_t before = ledger(kCpu).current()[size_t(Category::activations)];
  Var w = Var::parameter(random({16, 32}, 2));
  const Tensor strided = with_layout(random({64, 32}, 1), Layout::every_second);
  const Var a = linear(strided, w);  // the contiguous copy of x
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::activations)] - before, 64 * 32 * 8);
  w.set_requires_grad(false);
  Var leaf(strided);
  leaf.set_requires_grad(true);
  const Var b = linear(leaf, w);
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::activations)] - before, 64 * 32 * 8);
}

TEST(LinearOp, runs_on_meta) {
  const Tensor x = Tensor::empty({2, 3, 4}, {DType::f32, kMeta, {}});
  Var w = Var::parameter(Tensor::empty({5, 4}, {DType::f32, kMeta, {}}));
  const Var y = linear(x, w);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 5}));
  backward(y, {.seed = Tensor::empty(y.shape(), {DType::f32, kMeta, {}})});
  EXPECT_EQ(w.grad().shape(), w.shape());
}

}  // namespace
}  // namespace tare::test
