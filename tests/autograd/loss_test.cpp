// SPDX-License-Identifier: Apache-2.0
// Losses as differentiable ops: central differences, chunks, what is formed and what it costs in memory.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"
#include "tare/core/ledger.h"

#include "tests/support/values.h"

namespace tare::test {
namespace {

Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::f64) {
  return Tensor::randn(shape, seed, {dtype, kCpu, {}});
}
Tensor labels(const Shape& shape, int64_t V, uint64_t seed = 3) {
  return tensor_of(indices(V)(shape.numel(), seed), shape, DType::i64);
}
int64_t bytes_of(Category category) { return ledger(kCpu).current()[size_t(category)]; }

TEST(CrossEntropyOp, gradients_agree_with_differences) {
  const Tensor targets = labels({2, 3}, 7);
  for (const double smoothing : {0.0, 0.2})
    for (const Layout layout : kLayouts)
      EXPECT_EQ(gradcheck(
                    [&](const Vars& v) {
                      return cross_entropy(v[0], targets,
                                           {.ignore_index = targets.to_vector<int64_t>()[1],
                                            .label_smoothing = smoothing})
                          .sum;
                    },
                    {with_layout(random({2, 3, 7}, 1), layout)}),
                "");
}

TEST(CrossEntropyOp, logits_of_half_type_may_be_a_leaf_with_a_gradient_in_f32) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor x = random({2, 5}, 1, dtype), targets = labels({2}, 5);
    const Var leaf = Var::parameter(x, "x"), exact = Var::parameter(x.to(DType::f64), "exact");
    backward(cross_entropy(leaf, targets).sum);
    backward(cross_entropy(exact, targets).sum);
    EXPECT_EQ(leaf.grad().dtype(), DType::f32);
    EXPECT_TRUE(
        is_close(leaf.grad().to_vector<double>(), exact.grad().to_vector<double>(), dtype, tolerance(dtype)));
  }
}

TEST(CrossEntropyOp, counts_the_rows_that_are_not_ignored) {
  const Tensor targets = Tensor::from_vector(std::vector<int64_t>{1, -100, 0, -100}, {4});
  EXPECT_EQ(cross_entropy(random({4, 3}, 1), targets).count, 2);
  EXPECT_EQ(linear_cross_entropy(random({4, 5}, 1), random({3, 5}, 2), targets).count, 2);
  EXPECT_THROW(cross_entropy(random({4, 3}, 1), labels({3}, 3)), Error);
}

TEST(LinearCrossEntropyOp, gradients_agree_with_differences) {
  const Tensor targets = labels({3, 5}, 7);
  for (const int64_t chunk : {0, 4}) {
    const auto f = [&](const Vars& v) {
      return linear_cross_entropy(v[0], v[1], targets, {.ignore_index = 2, .scale = 0.3, .chunk = chunk}).sum;
    };
    for (const Layout layout : kLayouts)
      EXPECT_EQ(
          gradcheck(f, {with_layout(random({3, 5, 4}, 1), layout), with_layout(random({7, 4}, 2), layout)}),
          "");
    EXPECT_EQ(gradcheck(f, {random({3, 5, 4}, 1), random({7, 4}, 2)}, {.wanted = {true, false}}), "");
    EXPECT_EQ(gradcheck(f, {random({3, 5, 4}, 1), random({7, 4}, 2)}, {.wanted = {false, true}}), "");
  }
}

TEST(LinearCrossEntropyOp, equals_linear_then_cross_entropy) {
  const Tensor targets = labels({40}, 11);
  const Var x = Var::parameter(random({40, 6}, 1)), w = Var::parameter(random({11, 6}, 2));
  const LossSum whole = cross_entropy(linear(x, w), targets),
                fused = linear_cross_entropy(x, w, targets, {.chunk = 16});
  EXPECT_NEAR(whole.sum.value().item<double>(), fused.sum.value().item<double>(), 1e-12);
  EXPECT_EQ(whole.count, fused.count);
}

TEST(LinearCrossEntropyOp, charges_what_the_forward_formed_to_gradients_and_hands_it_over) {
  const int64_t N = 64, C = 8, V = 32;
  const int64_t gradients = bytes_of(Category::gradients), activations = bytes_of(Category::activations);
  Var x = Var::parameter(random({N, C}, 1, DType::f32)), w = Var::parameter(random({V, C}, 2, DType::f32));
  const Tensor targets = labels({N}, V);
  ledger(kCpu).reset_peaks();
  const int64_t total = ledger(kCpu).total();
  const LossSum loss = linear_cross_entropy(x, w, targets, {.chunk = 16});
  EXPECT_EQ(bytes_of(Category::gradients) - gradients, 4 * (N + V) * C);
  EXPECT_EQ(bytes_of(Category::activations), activations);
  // 16 rows of logits, the losses, their sum.
  EXPECT_EQ(ledger(kCpu).report().own_peak[size_t(Category::workspace)], 4 * 16 * V);
  EXPECT_LE(ledger(kCpu).peak_total() - total, 4 * (N + V) * C + 4 * 16 * V + 4 * N + 64);
  ledger(kCpu).reset_peaks();
  const int64_t before = ledger(kCpu).total();
  backward(loss.sum);
  EXPECT_EQ(bytes_of(Category::gradients) - gradients, 4 * (N + V) * C);
  EXPECT_LE(ledger(kCpu).peak_total() - before, 64);  // the seed
}

TEST(LinearCrossEntropyOp, forms_only_the_gradients_that_are_wanted) {
  const int64_t before = bytes_of(Category::gradients);
  Var x = Var::parameter(random({64, 8}, 1)), w = Var::parameter(random({32, 8}, 2));
  const Tensor targets = labels({64}, 32);
  {
    const NoGradGuard no_grad;
    const LossSum loss = linear_cross_entropy(x, w, targets);
    EXPECT_EQ(bytes_of(Category::gradients), before);
  }
  w.set_requires_grad(false);
  const LossSum loss = linear_cross_entropy(x, w, targets);
  EXPECT_EQ(bytes_of(Category::gradients) - before, 64 * 8 * 8);
}

TEST(LinearCrossEntropyOp, an_upstream_gradient_scales_what_was_formed) {
  const Tensor targets = labels({10}, 5);
  Var x = Var::parameter(random({10, 3}, 1)), w = Var::parameter(random({5, 3}, 2));
  backward(linear_cross_entropy(x, w, targets).sum);
  const auto one = w.grad().to_vector<double>();
  w.zero_grad();
  backward(linear_cross_entropy(x, w, targets).sum, {.seed = Tensor::full({}, 3, {DType::f64, kCpu, {}})});
  const auto three = w.grad().to_vector<double>();
  for (size_t i = 0; i < one.size(); ++i) EXPECT_DOUBLE_EQ(3 * one[i], three[i]);
  backward(linear_cross_entropy(x, w, targets).sum);  // a second micro-batch adds
  const auto four = w.grad().to_vector<double>();
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(4 * one[i], four[i], 1e-12);
}

TEST(LinearCrossEntropyOp, memory_does_not_grow_with_tokens_times_vocabulary) {
  const auto peak = [](int64_t N) {
    const int64_t C = 8, V = 5000;
    const Var x = Var::parameter(random({N, C}, 1, DType::f32)),
              w = Var::parameter(random({V, C}, 2, DType::f32));
    const Tensor targets = labels({N}, V);
    ledger(kCpu).reset_peaks();
    const int64_t before = ledger(kCpu).total();
    backward(linear_cross_entropy(x, w, targets, {.chunk = 32}).sum);
    return ledger(kCpu).peak_total() - before;
  };
  const int64_t a = peak(64), b = peak(128), c = peak(256);
  EXPECT_EQ(c - b, 2 * (b - a));
  EXPECT_LT(c, 4 * 256 * 5000 / 4);  // a quarter of the logits
}

}  // namespace
}  // namespace tare::test
