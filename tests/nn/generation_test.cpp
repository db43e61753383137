// SPDX-License-Identifier: Apache-2.0
// Texts from a model: the cache against the run without it, greedy choice against PyTorch, errors.
#include "tare/nn/generation.h"

#include <gtest/gtest.h>

#include "tests/nn/golden_gpt2.h"

namespace tare::nn {
namespace {

std::unique_ptr<Gpt2> small_model() {
  Gpt2Config c = Gpt2Config::preset("demo");
  c.vocab_size = 40;
  c.n_positions = 12;
  c.n_embd = 16;
  c.n_layer = 2;
  c.n_head = 2;
  c.initializer_range = 0.5;  // so that contexts matter
  auto model = std::make_unique<Gpt2>(c, ModuleOptions{DType::f64, kCpu});
  model->initialize(3);
  return model;
}

TEST(Generation, TheCacheChangesNothing) {
  const auto model = small_model();
  for (const double temperature : {0.0, 0.7, 1.5}) {
    GenerationOptions options{8, {.temperature = temperature, .top_k = 10, .seed = 5}, true, {}};
    const auto cached = generate(*model, {1, 2, 3}, options);
    options.use_cache = false;
    EXPECT_EQ(generate(*model, {1, 2, 3}, options), cached) << temperature;
    EXPECT_EQ(cached.size(), 8u);
  }
}

TEST(Generation, LogitsWithTheCacheAreThoseOfTheWholeText) {
  const auto model = small_model();
  const EvalScope eval(*model);
  const Tensor ids = Tensor::from_vector(std::vector<int64_t>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, {2, 5});
  const Tensor whole = model->forward({ids}).value();
  KeyValueCache cache = model->make_cache(2, 5);
  const Tensor first = model->forward({ids.slice(1, 0, 3), {}, &cache}).value();
  const Tensor second = model->forward({ids.slice(1, 3, 4), {}, &cache}).value();
  const Tensor third = model->next_logits({ids.slice(1, 4, 5), {}, &cache});
  EXPECT_LE(test::relative_max(first, whole.slice(1, 0, 3)), 1e-14);
  EXPECT_LE(test::relative_max(second, whole.slice(1, 3, 4)), 1e-14);
  EXPECT_LE(test::relative_max(third, whole.select(1, 4)), 1e-14);
  EXPECT_GT(test::relative_max(second, whole.slice(1, 2, 3)), 1e-3);
  EXPECT_THROW(model->forward({ids.slice(1, 4, 5), {}, &cache}), Error);  // full
}

TEST(Generation, ATextLongerThanThePositionsGoesOnWithItsLastHalf) {
  const auto model = small_model();
  GenerationOptions options{40, {.temperature = 1, .top_k = 0, .seed = 2}, true, {}};
  const auto cached = generate(*model, {1, 2, 3}, options);
  options.use_cache = false;
  EXPECT_EQ(generate(*model, {1, 2, 3}, options), cached);
  EXPECT_EQ(cached.size(), 40u);
  // Token i is the choice after the context that the rule gives.
  std::vector<int64_t> context{1, 2, 3};
  const EvalScope eval(*model);
  for (size_t i = 0; i < cached.size(); ++i) {
    const Tensor logits = model->next_logits({Tensor::from_vector(context, {1, int64_t(context.size())})});
    ASSERT_EQ(cached[i], choose_token(logits.to_vector<double>(), options.sampling, int64_t(i))) << i;
    if (context.size() == 12) context.erase(context.begin(), context.begin() + 6);
    context.push_back(cached[i]);
  }
}

TEST(Generation, ReportsEachTokenAndRestoresTheMode) {
  Gpt2Config config = small_model()->config();
  config.set_dropout(0.5);
  Gpt2 model(config, {DType::f64, kCpu});
  model.initialize(3);
  std::vector<int64_t> seen;
  const GenerationOptions options{5, {.seed = 1}, true, [&](int64_t token) { seen.push_back(token); }};
  EXPECT_EQ(generate(model, {0}, options), seen);
  EXPECT_EQ(generate(*small_model(), {0}, options), std::vector<int64_t>(seen.begin(), seen.begin() + 5));
  EXPECT_TRUE(model.training());
}

TEST(Generation, BadPromptsAreErrors) {
  const auto model = small_model();
  EXPECT_THROW(generate(*model, {}, {}), Error);
  EXPECT_THROW(generate(*model, {40}, {}), Error);
  EXPECT_THROW(generate(*model, {-1}, {}), Error);
  EXPECT_THROW(generate(*model, std::vector<int64_t>(13, 1), {}), Error);
  EXPECT_THROW(generate(*model, {1}, {.tokens = -1}), Error);
  EXPECT_NO_THROW(generate(*model, std::vector<int64_t>(12, 1), {.tokens = 2}));
  EXPECT_TRUE(generate(*model, {1}, {.tokens = 0}).empty());
}

}  // namespace
}  // namespace tare::nn
