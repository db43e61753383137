// SPDX-License-Identifier: Apache-2.0
// The vision transformer: its size, its shapes, its files, and its logits against a plain computation.
#include "tare/nn/models/vit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/core/random_scope.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace tare::nn {
namespace {

using namespace tare::test;

VitConfig small() {
  VitConfig c = VitConfig::preset("vit-tiny");
  c.image_size = 8;
  c.num_channels = 2;
  c.hidden_size = 16;
  c.num_hidden_layers = 2;
  c.intermediate_size = 24;
  c.num_labels = 5;
  c.initializer_range = 0.2;
  return c;
}

TEST(Vit, HasTheParametersOfThePaper) {
  EXPECT_EQ(Vit(VitConfig::preset("vit-b16"), {.device = kMeta}).num_parameters(), 86567656);
  EXPECT_EQ(Vit(VitConfig::preset("vit-tiny"), {.device = kMeta}).num_parameters(), 205066);
  EXPECT_ERROR(VitConfig::preset("vit-huge"), "vit-huge", "vit-b16, vit-tiny");
}

TEST(Vit, ImagesThatDoNotFitAreAnErrorThatNamesTheShape) {
  Vit model(small());
  model.initialize(1);
  EXPECT_EQ(model.forward(Tensor::randn({3, 2, 8, 8}, 1)).shape(), (Shape{3, 5}));
  EXPECT_ERROR(model.forward(Tensor::randn({3, 1, 8, 8}, 1)), "(3, 1, 8, 8)", "(B, 2, 8, 8)");
  EXPECT_ERROR(model.forward(Tensor::randn({3, 2, 8, 8}, 1, {DType::f64, kCpu, {}})), "f64");
}

// Kernel c over the patch at (py, px): sum of w[c][ch][y][x] * image[ch][4 py + y][4 px + x] + b[c].
TEST(Vit, ItsTokensAreAConvolutionOfThePatches) {
  VitConfig c = small();
  c.num_hidden_layers = 1;
  Vit model(c, {.dtype = DType::f64});
  model.initialize(3);
  // The layer adds nothing, and the head reads the class token: make it read one patch's token instead.
  const Tensor images = Tensor::randn({1, 2, 8, 8}, 5, {DType::f64, kCpu, {}});
  const auto w = model.projection.weight.value().to_vector<double>();
  const auto x = images.to_vector<double>();
  double expected[16];
  for (int64_t k = 0; k < 16; ++k) {
    expected[k] = 0;
    for (int64_t ch = 0; ch < 2; ++ch)
      for (int64_t y = 0; y < 4; ++y)
        for (int64_t column = 0; column < 4; ++column)
          expected[k] += w[size_t(((k * 2 + ch) * 4 + y) * 4 + column)] *
                         x[size_t((ch * 8 + 4 + y) * 8 + column)];  // the patch at (1, 0): token 3
  }
  const Tensor tokens = model.embed(images).value();
  ASSERT_EQ(tokens.shape(), (Shape{1, 5, 16}));
  const Tensor got = tokens.select(1, 3), position = model.position_embeddings.value().select(1, 3);
  for (int64_t k = 0; k < 16; ++k)
    EXPECT_NEAR(got.to_vector<double>()[size_t(k)] - position.to_vector<double>()[size_t(k)], expected[k],
                1e-12);
}

TEST(Vit, EveryParameterGetsTheGradientOfItsLoss) {
  Vit model(small(), {.dtype = DType::f64});
  model.initialize(2);
  model.eval();
  const Tensor images = Tensor::randn({2, 2, 8, 8}, 7, {DType::f64, kCpu, {}});
  const Tensor labels = Tensor::from_vector<int64_t>({4, 1}, {2});
  const auto loss = [&] { return model.loss(images, labels).sum; };
  backward(loss());
  for (const NamedParameter& p : model.named_parameters()) {
    ASSERT_TRUE(p.var->grad().defined()) << p.name;
    double* values = p.var->mutable_value().mutable_data<double>();
    const int64_t n = p.var->value().numel();
    for (const int64_t i : {int64_t(0), n / 2, n - 1}) {
      constexpr double kStep = 1e-5;
      const NoGradGuard no_grad;
      const double at = values[i];
      values[i] = at + kStep;
      const double above = loss().value().item<double>();
      values[i] = at - kStep;
      const double below = loss().value().item<double>();
      values[i] = at;
      EXPECT_NEAR(p.var->grad().to_vector<double>()[size_t(i)], (above - below) / (2 * kStep), 1e-7)
          << p.name;
    }
  }
}

TEST(Vit, AFolderGivesBackModelAndLogits) {
  const TempDir dir;
  Vit model(small());
  model.initialize(4);
  model.eval();
  model.save_pretrained(dir / "model");
  const auto loaded = Vit::from_pretrained(dir / "model");
  EXPECT_EQ(loaded->config(), model.config());
  const Tensor images = Tensor::randn({3, 2, 8, 8}, 9);
  EXPECT_EQ(loaded->forward(images).value().to_vector<float>(),
            model.forward(images).value().to_vector<float>());
}

TEST(Vit, NamesOfLabelsAreKeptThroughLoadingAndSaving) {
  Json json = small().to_json();
  EXPECT_EQ(json.at("id2label").at("4").as_string(), "LABEL_4");
  EXPECT_EQ(json.at("label2id").at("LABEL_4").as_int(), 4);
  // Numbers in another order, a name that stands twice, and numbers as texts, as found in files.
  json.set("id2label", Json::parse(R"({"0": "crane", "1": "cat", "4": "dog", "3": "ant", "2": "crane"})"));
  json.set("label2id", Json::parse(R"({"ant": "3", "cat": "1", "crane": "2", "dog": "4"})"));
  const VitConfig config = VitConfig::from_json(json);
  EXPECT_EQ(config.num_labels, 5);
  EXPECT_EQ(config.id2label, (std::vector<std::string>{"crane", "cat", "crane", "ant", "dog"}));

  const TempDir dir;
  Vit model(config);
  model.initialize(1);
  model.save_pretrained(dir / "model");
  const Json saved = Json::parse_file(dir / "model" / "config.json");
  EXPECT_EQ(saved.at("label2id"), json.at("label2id"));
  for (const auto& [number, name] : json.at("id2label").members())
    EXPECT_EQ(saved.at("id2label").at(number), name) << number;
  EXPECT_EQ(VitConfig::from_json(saved), config);

  json.set("label2id", nullptr);
  const Json reversed = VitConfig::from_json(json).to_json().at("label2id");
  EXPECT_EQ(reversed, Json::parse(R"({"ant": 3, "cat": 1, "crane": 2, "dog": 4})"));
  EXPECT_EQ(VitConfig::from_json(VitConfig::from_json(json).to_json()), VitConfig::from_json(json));
  json.set("id2label", Json::parse(R"({"1": "cat", "2": "dog"})"));
  EXPECT_ERROR(VitConfig::from_json(json), "id2label", "\"0\"");
  VitConfig other = config;
  other.num_labels = 3;
  EXPECT_ERROR(other.check(), "id2label has 5 names, num_labels is 3");
}

TEST(Vit, AConfigThatCannotBeIsAnErrorThatNamesTheField) {
  const auto with = [](const char* key, const Json& value) {
    Json json = small().to_json();
    json.set(key, value);
    return json;
  };
  EXPECT_EQ(VitConfig::from_json(small().to_json()), small());
  EXPECT_ERROR(VitConfig::from_json(with("model_type", "bert")), "model_type", "bert");
  EXPECT_ERROR(VitConfig::from_json(with("patch_size", 3)), "image_size 8", "patch_size 3");
  EXPECT_ERROR(VitConfig::from_json(with("num_attention_heads", 5)), "num_attention_heads 5");
  EXPECT_ERROR(VitConfig::from_json(with("num_hidden_layers", 0)), "num_hidden_layers");
  EXPECT_ERROR(VitConfig::from_json(with("mask_token", 1)), "mask_token");
}

}  // namespace
}  // namespace tare::nn
