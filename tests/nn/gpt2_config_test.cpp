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

TEST(Gpt2Config, AFieldThatIsNotKnownIsAnErrorThatNamesIt) {
  const std::string message = error_of(R"({"n_embd": 64, "n_head": 4, "layer_norm_eps": 1e-3, "rotary": 1})");
  EXPECT_NE(message.find("layer_norm_eps, rotary"), std::string::npos) << message;
  EXPECT_NE(error_of(R"({"is_encoder_decoder": true})").find("is_encoder_decoder"), std::string::npos);
  EXPECT_NE(error_of(R"({"pruned_heads": {"0": [1]}})").find("pruned_heads"), std::string::npos);
  EXPECT_NE(error_of(R"({"quantization_config": {"bits": 4}})").find("quantization_config"),
            std::string::npos);
  EXPECT_NE(error_of("[]"), "no error");
}

TEST(Gpt2Config, SizesHaveASecondNameThatMustNotDisagree) {
  const Gpt2Config c = Gpt2Config::from_json(
      Json::parse(R"({"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 8, "n_head": 8,
                      "max_position_embeddings": 77, "n_positions": null})"));
  EXPECT_EQ(c.n_embd, 64);
  EXPECT_EQ(c.n_layer, 3);
  EXPECT_EQ(c.n_head, 8);
  EXPECT_EQ(c.n_positions, 77);
  const std::vector<std::pair<std::string, std::string>> names{{"n_embd", "hidden_size"},
                                                               {"n_layer", "num_hidden_layers"},
                                                               {"n_head", "num_attention_heads"},
                                                               {"n_positions", "max_position_embeddings"}};
  for (const auto& [name, alias] : names) {
    const std::string message = error_of("{\"" + name + "\": 12, \"" + alias + "\": 24}");
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find(alias), std::string::npos) << message;
  }
}

// Fields as transformers writes them, in full and in the files of older versions.
TEST(Gpt2Config, WhatTransformersWritesLoads) {
  const Gpt2Config full = Gpt2Config::from_json(Json::parse(R"({
    "_name_or_path": "", "activation_function": "gelu_new", "add_cross_attention": false, "architectures": null,
    "attn_pdrop": 0.1, "bos_token_id": 50256, "chunk_size_feed_forward": 0, "dtype": null, "embd_pdrop": 0.1,
    "eos_token_id": 50256, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "initializer_range": 0.02,
    "is_encoder_decoder": false, "label2id": {"LABEL_0": 0, "LABEL_1": 1}, "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_inner": null, "n_layer": 12, "n_positions": 1024,
    "output_attentions": false, "output_hidden_states": false, "pad_token_id": null, "problem_type": null,
    "reorder_and_upcast_attn": false, "resid_pdrop": 0.1, "return_dict": true,
    "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true, "summary_activation": null,
    "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
    "summary_use_proj": true, "tie_word_embeddings": true, "transformers_version": "5.24.0", "use_cache": true,
    "vocab_size": 50257})"));
  EXPECT_EQ(full, Gpt2Config::preset("gpt2"));
  const Gpt2Config old = Gpt2Config::from_json(Json::parse(R"({
    "_num_labels": 1, "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256,
    "gradient_checkpointing": false, "id2label": {"0": "LABEL_0"}, "initializer_range": 0.02,
    "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 1024,
    "n_head": 16, "n_layer": 24, "n_positions": 1024, "n_special": 0, "output_past": true,
    "predict_special_tokens": true, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
    "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
    "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "torch_dtype": "float16",
    "pruned_heads": {}, "vocab_size": 50257})"));
  EXPECT_EQ(old, Gpt2Config::preset("gpt2-medium"));
}

}  // namespace
}  // namespace tare::nn
