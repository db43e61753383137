// SPDX-License-Identifier: Apache-2.0
// Gradients of softmax, layernorm, rmsnorm and embedding, by central differences.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"
#include "tare/core/error.h"

#include "tests/support/compare.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

Tensor random(const Shape& shape, uint64_t seed) {
  return Tensor::randn(shape, seed, {DType::f64, kCpu, {}});
}

TEST(NormalizeOps, gradients_agree_with_differences) {
  const auto norm = [](const Vars& v) { return layernorm(v[0], v[1], v[2], 1e-5); };
  const auto rms = [](const Vars& v) { return rmsnorm(v[0], v[1], 1e-6); };
  for (const Shape& shape : {Shape{3, 7}, Shape{2, 3, 5}, Shape{6}}) {
    const int64_t C = shape[shape.dim() - 1];
    const std::vector<Tensor> inputs{random(shape, 1), random({C}, 2), random({C}, 3)};
    EXPECT_EQ(gradcheck(norm, inputs), "");
    EXPECT_EQ(gradcheck(rms, {inputs[0], inputs[1]}), "");
    EXPECT_EQ(gradcheck([](const Vars& v) { return softmax(v[0]); }, {inputs[0]}), "");
    for (size_t only = 0; only < 3; ++only) {
      std::vector<bool> wanted(3);
      wanted[only] = true;
      EXPECT_EQ(gradcheck(norm, inputs, {.wanted = wanted}), "") << only;
    }
  }
}

TEST(NormalizeOps, any_layout_gives_the_same_gradients) {
  for (Layout layout : kLayouts) {
    const std::vector<Tensor> inputs{with_layout(random({4, 6}, 1), layout),
                                     with_layout(random({6}, 2), layout),
                                     with_layout(random({6}, 3), layout)};
    EXPECT_EQ(gradcheck([](const Vars& v) { return layernorm(v[0], v[1], v[2]); }, inputs), "");
    EXPECT_EQ(gradcheck([](const Vars& v) { return rmsnorm(v[0], v[1]); }, {inputs[0], inputs[1]}), "");
    EXPECT_EQ(gradcheck([](const Vars& v) { return softmax(v[0]); }, {inputs[0]}), "");
  }
}

TEST(NormalizeOps, weights_that_are_left_out_count_as_ones_and_zeros) {
  const Tensor x = random({3, 5}, 1);
  const Tensor ones = Tensor::full({5}, 1, {DType::f64, kCpu, {}});
  const Tensor zeros = Tensor::zeros({5}, {DType::f64, kCpu, {}});
  EXPECT_TRUE(same_bits(layernorm(x, {}, {}).value(), layernorm(x, ones, zeros).value()));
  EXPECT_TRUE(same_bits(rmsnorm(x, {}).value(), rmsnorm(x, ones).value()));
  EXPECT_EQ(gradcheck([](const Vars& v) { return layernorm(v[0], {}, {}); }, {x}), "");
  EXPECT_EQ(gradcheck([](const Vars& v) { return layernorm(v[0], v[1], {}); }, {x, ones}), "");
}

// Both weights of one leaf, and x itself as gamma: each contribution arrives.
TEST(NormalizeOps, one_leaf_may_stand_in_several_places) {
  const std::vector<Tensor> inputs{random({4, 6}, 1), random({6}, 2)};
  EXPECT_EQ(gradcheck([](const Vars& v) { return layernorm(v[0], v[1], v[1]); }, inputs), "");
  EXPECT_EQ(gradcheck([](const Vars& v) { return layernorm(v[0], v[0], v[0]); }, {random({6}, 4)}), "");
  EXPECT_EQ(gradcheck([](const Vars& v) { return rmsnorm(v[0], v[0]); }, {random({6}, 4)}), "");
}

TEST(NormalizeOps, half_leaves_get_their_gradients_in_f32) {
  const Tensor x = tensor_of(normal()(12, 1), {3, 4}, DType::bf16);
  const Var leaf = Var::parameter(x.clone()),
            gamma = Var::parameter(Tensor::full({4}, 1, {DType::bf16, kCpu, {}}));
  backward(layernorm(leaf, gamma, {}), {.seed = tensor_of(normal()(12, 2), {3, 4}, DType::bf16)});
  EXPECT_EQ(leaf.grad().dtype(), DType::f32);
  EXPECT_EQ(gamma.grad().dtype(), DType::f32);
  const Var same = Var::parameter(x.clone());
  backward(softmax(same), {.seed = tensor_of(normal()(12, 2), {3, 4}, DType::bf16)});
  EXPECT_EQ(same.grad().dtype(), DType::f32);
}

TEST(NormalizeOps, layernorm_saves_its_input_and_two_numbers_per_row) {
  const auto activations = [] { return ledger(kCpu).current()[size_t(Category::activations)]; };
  const Var gamma = Var::parameter(Tensor::full({32}, 1)), beta = Var::parameter(Tensor::zeros({32}));
  const int64_t before = activations();
  const Tensor x = Tensor::randn({10, 32}, 1);
  const Var y = layernorm(x, gamma, beta);
  EXPECT_EQ(activations() - before, 10 * 32 * 4 + 2 * 10 * 4);
}

TEST(NormalizeOps, a_wrong_weight_is_an_error) {
  EXPECT_THROW(layernorm(Tensor::zeros({2, 3}), Tensor::zeros({4}), {}), Error);
  EXPECT_THROW(layernorm(Tensor::zeros({2, 3}), {}, {}, -1), Error);
  EXPECT_THROW(rmsnorm(Tensor::full({}, 1), {}), Error);
}

TEST(EmbeddingOp, gradients_agree_with_differences) {
  const Tensor ids = Tensor::from_vector<int64_t>({3, 0, 3, 1, 1, 3}, {2, 3});
  const auto f = [&](const Vars& v) { return embedding(ids, v[0]); };
  EXPECT_EQ(gradcheck(f, {random({5, 4}, 1)}), "");
  EXPECT_EQ(gradcheck(f, {random({4, 5}, 1).transpose(0, 1)}), "");
  EXPECT_EQ(
      gradcheck([&](const Vars& v) { return embedding(ids.transpose(0, 1), v[0]); }, {random({5, 4}, 1)}),
      "");
}

TEST(EmbeddingOp, strided_ids_pick_the_same_rows) {
  const Tensor ids = Tensor::from_vector<int64_t>({3, 0, 2, 1}, {2, 2}), table = random({5, 4}, 1);
  EXPECT_EQ(embedding(ids.transpose(0, 1), table).value().to_vector<double>(),
            embedding(ids.transpose(0, 1).contiguous(), table).value().to_vector<double>());
}

TEST(EmbeddingOp, names_a_bad_id_and_a_bad_table) {
  const Tensor ids = Tensor::from_vector<int64_t>({0, 7}, {2});
  EXPECT_THROW(embedding(ids, random({5, 4}, 1)), Error);
  EXPECT_THROW(embedding(ids, random({5}, 1)), Error);
}

}  // namespace
}  // namespace tare::test
