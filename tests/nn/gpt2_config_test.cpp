// SPDX-License-Identifier: Apache-2.0
// Configurations of GPT-2: presets, JSON both ways, and what is refused.
#include "tare/nn/models/gpt2_config.h"

#include <gtest/gtest.h>

#include "tests/nn/golden_gpt2.h"

namespace tare::nn {
namespace {

std::string error_of(const std::string& json) {
  try {
    (void)Gpt2Config::from_json(Json::parse(json, "config.json"));
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Gpt2Config, PresetsHaveTheExactParameterCounts) {
  const std::vector<std::pair<std::string, int64_t>> counts{
      {"demo", 858880}, {"small", 3290624}, {"gpt2", 124439808}, {"gpt2-medium", 354823168}};
  ASSERT_EQ(counts.size(), Gpt2Config::preset_names().size());
  for (const auto& [name, count] : counts) {
    const Gpt2 model(Gpt2Config::preset(name), {DType::f32, kMeta});
    EXPECT_EQ(model.num_parameters(), count) << name;
    EXPECT_EQ(model.footprint().parameter_bytes, 4 * count) << name;
  }
  EXPECT_THROW(Gpt2Config::preset("gpt3"), Error);
}

TEST(Gpt2Config, ReadsWhatTransformersWrote) {
  const Gpt2Config c = Gpt2Config::from_file(test::golden_path("gpt2/model/config.json"));
  EXPECT_EQ(c.vocab_size, 97);
  EXPECT_EQ(c.n_positions, 32);
  EXPECT_EQ(c.n_embd, 36);
  EXPECT_EQ(c.n_layer, 2);
  EXPECT_EQ(c.n_head, 4);
  EXPECT_EQ(c.inner(), 144);
  EXPECT_EQ(c.activation_function, Activation::gelu_tanh);
  EXPECT_EQ(c.attn_pdrop, 0);
  EXPECT_EQ(c.eos_token_id, 96);
  EXPECT_EQ(Gpt2Config::from_json(c.to_json()), c);
}

TEST(Gpt2Config, EveryFieldSurvivesAWriteAndARead) {
  Gpt2Config c = Gpt2Config::preset("demo");
  c.n_inner = 99;
  c.activation_function = Activation::relu;
  c.embd_pdrop = 0.05;
  c.attn_pdrop = 0.15;
  c.resid_pdrop = 0.25;
  c.layer_norm_epsilon = 3e-6;
  c.initializer_range = 0.013;
  c.scale_attn_weights = false;
  c.scale_attn_by_inverse_layer_idx = true;
  c.bos_token_id = 7;
  EXPECT_EQ(Gpt2Config::from_json(Json::parse(c.to_json().dump(2), "config.json")), c);
}

TEST(Gpt2Config, WhatTareCannotDoIsAnErrorThatNamesTheField) {
  EXPECT_NE(error_of(R"({"model_type": "bert"})").find("model_type"), std::string::npos);
  EXPECT_NE(error_of(R"({"activation_function": "mish"})").find("mish"), std::string::npos);
  EXPECT_NE(error_of(R"({"tie_word_embeddings": false})").find("tie_word_embeddings"), std::string::npos);
  EXPECT_NE(error_of(R"({"add_cross_attention": true})").find("add_cross_attention"), std::string::npos);
  EXPECT_NE(error_of(R"({"n_embd": 10, "n_head": 4})").find("n_head"), std::string::npos);
  EXPECT_NE(error_of(R"({"n_layer": 0})").find("n_layer"), std::string::npos);
  EXPECT_NE(error_of(R"({"n_embd": "wide"})").find("n_embd"), std::string::npos);
  EXPECT_NE(error_of(R"({"attn_pdrop": 1.5})").find("dropout"), std::string::npos);
  EXPECT_EQ(error_of("{}"), "no error");
}

}  // namespace
}  // namespace tare::nn
