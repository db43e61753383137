// SPDX-License-Identifier: Apache-2.0
// The layers: shapes, layouts, first values, and gradients of a whole block.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/core/random_scope.h"
#include "tare/nn/conv2d.h"
#include "tare/nn/embedding.h"
#include "tare/nn/transformer.h"

#include "tests/nn/golden_gpt2.h"

namespace tare::nn {
namespace {

constexpr ModuleOptions kF64{DType::f64, kCpu};

Tensor randn(const Shape& shape, uint64_t seed) { return Tensor::randn(shape, seed, {DType::f64, kCpu, {}}); }

// Gradients of f with respect to x and to every parameter of the module.
template <class M, class F> std::string gradcheck_module(M& module, const Tensor& x, F&& f) {
  std::vector<Tensor> inputs{x};
  const auto named = module.named_parameters();
  for (const NamedParameter& p : named) inputs.push_back(p.var->value());
  return gradcheck(
      [&](const Vars& v) {
        for (size_t i = 0; i < named.size(); ++i) *named[i].var = v[i + 1];
        return f(v[0]);
      },
      inputs);
}

TEST(Linear, BothLayoutsComputeTheSame) {
  Linear linear(5, 3, {}, kF64);
  Conv1D conv(5, 3, {}, kF64);
  linear.initialize(1);
  conv.initialize(2);
  copy(linear.weight.value().transpose(0, 1), conv.weight.mutable_value());
  copy(linear.bias.value(), conv.bias.mutable_value());
  const Tensor x = randn({2, 4, 5}, 3);
  const Tensor y = linear.forward(x).value();
  EXPECT_EQ(y.shape(), (Shape{2, 4, 3}));
  EXPECT_LE(test::relative_max(conv.forward(x).value(), y), 1e-15);
  double expected = linear.bias.value().to_vector<double>()[1];
  for (int64_t c = 0; c < 5; ++c)
    expected += x.select(0, 1).select(0, 2).to_vector<double>()[size_t(c)] *
                linear.weight.value().select(0, 1).to_vector<double>()[size_t(c)];
  EXPECT_NEAR(y.select(0, 1).select(0, 2).to_vector<double>()[1], expected, 1e-14);
  EXPECT_EQ(linear.describe(), "Linear(5 -> 3)");
  EXPECT_EQ(conv.describe(), "Conv1D(5 -> 3)");
}

TEST(Linear, FirstValuesAreUniformWithinOneOverTheRootOfItsInputs) {
  Linear linear(400, 50, {}, kF64);
  linear.initialize(1);
  double least = 0, greatest = 0, squares = 0;
  for (const double w : linear.weight.value().to_vector<double>()) {
    least = std::min(least, w);
    greatest = std::max(greatest, w);
    squares += w * w;
  }
  EXPECT_NEAR(least, -0.05, 1e-4);
  EXPECT_NEAR(greatest, 0.05, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / 20000), 0.05 / std::sqrt(3.0), 5e-4);
}

TEST(Linear, ABiasCanBeLeftOut) {
  Linear linear(2, 3, {.has_bias = false});
  EXPECT_EQ(linear.num_parameters(), 6);
  EXPECT_THROW(Linear(0, 3), Error);
}

TEST(Conv2d, HasTorchsNamesShapesAndFirstValues) {
  Conv2d conv(4, 50, {5, 20}, {.stride = {2, 1}, .padding = 1}, {}, kF64);
  conv.initialize(1);
  EXPECT_EQ(conv.num_parameters(), 50 * 4 * 5 * 20 + 50);
  EXPECT_EQ(conv.parameter("weight").shape(), (Shape{50, 4, 5, 20}));
  EXPECT_EQ(conv.parameter("bias").shape(), (Shape{50}));
  double least = 0, greatest = 0;
  for (const double w : conv.weight.value().to_vector<double>()) {
    least = std::min(least, w);
    greatest = std::max(greatest, w);
  }
  EXPECT_NEAR(least, -0.05, 1e-4);  // 1 / sqrt(4 * 5 * 20)
  EXPECT_NEAR(greatest, 0.05, 1e-4);
  EXPECT_EQ(conv.forward(randn({3, 4, 9, 20}, 2)).shape(), (Shape{3, 50, 4, 3}));
  EXPECT_EQ(conv.describe(), "Conv2d(4 -> 50, kernel 5 x 20, stride 2 x 1, padding 1 x 1)");
  EXPECT_EQ(Conv2d(2, 3, 2, {}, {.has_bias = false}).num_parameters(), 24);
  EXPECT_THROW(Conv2d(2, 3, 0), Error);
  EXPECT_THROW(Conv2d(2, 3, 2, {.stride = 0}), Error);
}

TEST(Layers, AnswerWithTheRightShapes) {
  Embedding table(11, 4);
  LayerNorm layer_norm(4);
  RmsNorm rms_norm(4);
  for (Module* m : std::initializer_list<Module*>{&table, &layer_norm, &rms_norm}) m->initialize(1);
  const Var x = table.forward(Tensor::from_vector(std::vector<int64_t>{1, 2, 10, 0, 3, 3}, {2, 3}));
  EXPECT_EQ(x.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(layer_norm.forward(x).shape(), x.shape());
  EXPECT_EQ(rms_norm.forward(x).shape(), x.shape());
  EXPECT_EQ(layer_norm.weight.value().to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(layer_norm.bias.value().to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Dropout, ActsInTrainingOnly) {
  Dropout half(0.5);
  const Tensor x = Tensor::full({4, 1000}, 3, {DType::f64, kCpu, {}});
  const RandomScope random({.seed = 1, .update = 2, .first_sample = 0, .sample_stride = 1});
  int zeros = 0;
  const auto first = half.forward(x).value().to_vector<double>();
  for (const double y : first) {
    EXPECT_TRUE(y == 0 || y == 6) << y;
    zeros += y == 0;
  }
  EXPECT_NEAR(zeros, 2000, 5 * std::sqrt(1000.0));
  EXPECT_NE(half.forward(x).value().to_vector<double>(), first) << "a second call has a mask of its own";
  half.eval();
  EXPECT_EQ(half.forward(x).value().to_vector<double>(), x.to_vector<double>());
  EXPECT_THROW(Dropout(1), Error);
  EXPECT_THROW(Dropout(-0.1), Error);
}

TransformerConfig tiny(double dropout = 0) {
  TransformerConfig c;
  c.width = 6;
  c.heads = 2;
  c.inner = 10;
  c.attention_dropout = c.residual_dropout = dropout;
  c.weight = c.projection = Init::normal(0.5);
  return c;
}

TEST(Transformer, TheGradientsOfABlockAreRight) {
  for (const Activation activation :
       {Activation::gelu_tanh, Activation::gelu, Activation::relu, Activation::silu})
    for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
      TransformerConfig config = tiny();
      config.activation = activation;
      config.layout = layout;
      TransformerBlock block(config, kF64);
      block.initialize(7);
      EXPECT_EQ(gradcheck_module(block, randn({2, 3, 6}, 5), [&](const Var& x) { return block.forward(x); }),
                "");
    }
}

TEST(Transformer, TheGradientsOfABlockAreRightWithDropoutAndPadding) {
  TransformerBlock block(tiny(0.3), kF64);
  block.initialize(7);
  const Tensor mask = Tensor::from_vector(std::vector<uint8_t>{1, 1, 1, 0, 1, 1}, {2, 3}).to(DType::boolean);
  EXPECT_EQ(gradcheck_module(block, randn({2, 3, 6}, 5),
                             [&](const Var& x) {
                               const RandomScope random({.seed = 3, .update = 1, .first_sample = 5});
                               return block.forward(block.forward(x, {mask}), {mask});
                             }),
            "");
}

TEST(Transformer, TheGradientsOfItsPartsWithoutANormAreRight) {
  Mlp mlp(tiny(), kF64);
  mlp.initialize(1);
  EXPECT_EQ(gradcheck_module(mlp, randn({4, 6}, 5), [&](const Var& x) { return mlp.forward(x); }), "");
  TransformerConfig config = tiny();
  config.causal = false;
  SelfAttention attention(config, kF64);
  attention.initialize(1);
  EXPECT_EQ(
      gradcheck_module(attention, randn({2, 3, 6}, 5), [&](const Var& x) { return attention.forward(x); }),
      "");
}

TEST(Transformer, ACausalBlockDoesNotSeeTheFuture) {
  TransformerBlock block(tiny(), kF64);
  block.initialize(7);
  const Tensor x = randn({1, 5, 6}, 1);
  Tensor changed = x.clone();
  Tensor last = changed.slice(1, 4, 5);
  fill(last, 9);
  const NoGradGuard no_grad;
  const Tensor y = block.forward(x).value(), z = block.forward(changed).value();
  EXPECT_EQ(y.slice(1, 0, 4).to_vector<double>(), z.slice(1, 0, 4).to_vector<double>());
  EXPECT_NE(y.slice(1, 4, 5).to_vector<double>(), z.slice(1, 4, 5).to_vector<double>());
}

TEST(Transformer, ACacheNeedsNoGradAndRoom) {
  TransformerBlock block(tiny(), kF64);
  block.initialize(7);
  const TensorOptions options{DType::f64, kCpu, {}};
  KeyValues cache{Tensor::zeros({1, 2, 4, 3}, options), Tensor::zeros({1, 2, 4, 3}, options)};
  EXPECT_THROW(block.forward(randn({1, 2, 6}, 1), {{}, &cache}), Error);
  const NoGradGuard no_grad;
  EXPECT_NO_THROW(block.forward(randn({1, 3, 6}, 1), {{}, &cache}));
  EXPECT_EQ(cache.length, 3);
  EXPECT_THROW(block.forward(randn({1, 2, 6}, 1), {{}, &cache}), Error);
}

}  // namespace
}  // namespace tare::nn
