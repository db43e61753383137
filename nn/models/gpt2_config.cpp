// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/models/gpt2_config.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tare/core/error.h"
#include "tare/nn/config_fields.h"

namespace tare::nn {
namespace {

// What transformers and older versions of it write besides, and what changes neither the hidden states nor
// the loss of a language model: where the file comes from, heads for other tasks, what a call returns, how to
// generate, how attention is computed (here always in f32 or wider).
// clang-format off
constexpr std::string_view kWithoutEffect[] = {
    "_attn_implementation_autoset", "_commit_hash", "_name_or_path", "_num_labels", "architectures",
    "attn_implementation", "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward",
    "decoder_start_token_id", "diversity_penalty", "do_sample", "dtype", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "finetuning_task",
    "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing", "id2label", "label2id",
    "length_penalty", "max_length", "min_length", "n_ctx", "n_special", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_labels", "num_return_sequences", "output_attentions",
    "output_hidden_states", "output_past", "output_scores", "pad_token_id", "predict_special_tokens",
    "prefix", "problem_type", "remove_invalid_values", "reorder_and_upcast_attn", "repetition_penalty",
    "return_dict", "return_dict_in_generate", "sep_token_id", "suppress_tokens", "task_specific_params",
    "temperature", "tf_legacy_loss", "tie_encoder_decoder", "tokenizer_class", "top_k", "top_p",
    "torch_dtype", "torchscript", "transformers_version", "typical_p", "use_bfloat16", "use_cache"};
// clang-format on

bool is_without_effect(std::string_view key) {
  return key.starts_with("summary_") ||
         std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), key) != std::end(kWithoutEffect);
}

Json optional_json(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(); }

// A model over bytes: no special tokens.
Gpt2Config byte_config(int64_t width) {
  Gpt2Config c;
  c.vocab_size = 256;
  c.n_positions = 256;
  c.n_embd = width;
  c.n_layer = 4;
  c.n_head = 4;
  return c;
}

Gpt2Config word_config(int64_t width, int64_t layers, int64_t heads) {
  Gpt2Config c;
  c.n_embd = width;
  c.n_layer = layers;
  c.n_head = heads;
  c.bos_token_id = c.eos_token_id = 50256;
  return c;
}

}  // namespace

const std::vector<std::string>& Gpt2Config::preset_names() {
  static const std::vector<std::string> names{"demo", "small", "gpt2", "gpt2-medium"};
  return names;
}

Gpt2Config Gpt2Config::preset(const std::string& name) {
  if (name == "demo") return byte_config(128);
  if (name == "small") return byte_config(256);
  if (name == "gpt2") return word_config(768, 12, 12);
  if (name == "gpt2-medium") return word_config(1024, 24, 16);
  std::string names;
  for (const std::string& known : preset_names()) names += (names.empty() ? "" : ", ") + known;
  TARE_THROW("there is no model preset \"", name, "\"; there are ", names);
}

Gpt2Config Gpt2Config::from_json(const Json& json) {
  ConfigFields fields(json);
  fields.expect_model_type("gpt2");
  Gpt2Config c;
  fields.read(c.vocab_size, "vocab_size");
  fields.read(c.n_positions, "n_positions", "max_position_embeddings");
  fields.read(c.n_embd, "n_embd", "hidden_size");
  fields.read(c.n_layer, "n_layer", "num_hidden_layers");
  fields.read(c.n_head, "n_head", "num_attention_heads");
  fields.read(c.n_inner, "n_inner");
  if (const Json* activation = fields.take("activation_function"))
    c.activation_function = activation_from_name(activation->as_string());
  fields.read(c.embd_pdrop, "embd_pdrop");
  fields.read(c.attn_pdrop, "attn_pdrop");
  fields.read(c.resid_pdrop, "resid_pdrop");
  fields.read(c.layer_norm_epsilon, "layer_norm_epsilon");
  fields.read(c.initializer_range, "initializer_range");
  fields.read(c.scale_attn_weights, "scale_attn_weights");
  fields.read(c.scale_attn_by_inverse_layer_idx, "scale_attn_by_inverse_layer_idx");
  fields.read(c.bos_token_id, "bos_token_id");
  fields.read(c.eos_token_id, "eos_token_id");
  fields.expect("tie_word_embeddings", true, "only a head tied to wte is supported");
  fields.expect("add_cross_attention", false, "cross-attention is not supported");
  fields.expect("is_encoder_decoder", false, "only a decoder alone is supported");
  if (const Json* pruned = fields.take("pruned_heads"))
    TARE_CHECK(pruned->members().empty(), "config.json: pruned_heads is ", pruned->dump(),
               "; pruned heads are not supported");
  fields.check_nothing_is_left("GPT-2", is_without_effect);
  c.check();
  return c;
}

Gpt2Config Gpt2Config::from_file(const std::filesystem::path& path) {
  return from_json(Json::parse_file(path));
}

Json Gpt2Config::to_json() const {
  Json json = Json::object();
  json.set("activation_function", name_of(activation_function));
  json.set("architectures", Json::array({"GPT2LMHeadModel"}));
  json.set("attn_pdrop", attn_pdrop);
  json.set("bos_token_id", optional_json(bos_token_id));
  json.set("dtype", "float32");
  json.set("embd_pdrop", embd_pdrop);
  json.set("eos_token_id", optional_json(eos_token_id));
  json.set("initializer_range", initializer_range);
  json.set("layer_norm_epsilon", layer_norm_epsilon);
  json.set("model_type", "gpt2");
  json.set("n_embd", n_embd);
  json.set("n_head", n_head);
  json.set("n_inner", optional_json(n_inner));
  json.set("n_layer", n_layer);
  json.set("n_positions", n_positions);
  json.set("resid_pdrop", resid_pdrop);
  json.set("scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx);
  json.set("scale_attn_weights", scale_attn_weights);
  json.set("tie_word_embeddings", true);
  json.set("vocab_size", vocab_size);
  return json;
}

void Gpt2Config::check() const {
  const auto positive = [](const char* field, int64_t value) {
    TARE_CHECK(value > 0, "gpt2 config: ", field, " is ", value, ", expected more than 0");
  };
  positive("vocab_size", vocab_size);
  positive("n_positions", n_positions);
  positive("n_embd", n_embd);
  positive("n_layer", n_layer);
  positive("n_head", n_head);
  positive("n_inner", inner());
  TARE_CHECK(n_embd % n_head == 0, "gpt2 config: n_embd ", n_embd, " does not divide into n_head ", n_head,
             " heads");
  for (const double p : {embd_pdrop, attn_pdrop, resid_pdrop})
    TARE_CHECK(p >= 0 && p < 1, "gpt2 config: a dropout of ", p, ", expected 0 <= p < 1");
  TARE_CHECK(layer_norm_epsilon > 0, "gpt2 config: layer_norm_epsilon is ", layer_norm_epsilon);
  TARE_CHECK(initializer_range >= 0, "gpt2 config: initializer_range is ", initializer_range);
}

}  // namespace tare::nn
