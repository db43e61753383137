// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/models/gpt2_config.h"

#include "tare/core/error.h"

namespace tare::nn {
namespace {

// Overwrites `value` where the object has the key and it is not null.
void read(const Json& json, const char* key, int64_t& value) {
  if (const Json* found = json.find(key); found && !found->is_null()) value = found->as_int();
}
void read(const Json& json, const char* key, double& value) {
  if (const Json* found = json.find(key); found && !found->is_null()) value = found->as_double();
}
void read(const Json& json, const char* key, bool& value) {
  if (const Json* found = json.find(key); found && !found->is_null()) value = found->as_bool();
}
void read(const Json& json, const char* key, std::optional<int64_t>& value) {
  if (const Json* found = json.find(key); found && !found->is_null()) value = found->as_int();
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
  if (const Json* type = json.find("model_type"))
    TARE_CHECK(type->as_string() == "gpt2", "config.json: model_type is \"", type->as_string(),
               "\", expected \"gpt2\"");
  Gpt2Config c;
  read(json, "vocab_size", c.vocab_size);
  read(json, "n_positions", c.n_positions);
  read(json, "n_embd", c.n_embd);
  read(json, "n_layer", c.n_layer);
  read(json, "n_head", c.n_head);
  read(json, "n_inner", c.n_inner);
  if (const Json* activation = json.find("activation_function"))
    c.activation_function = activation_from_name(activation->as_string());
  read(json, "embd_pdrop", c.embd_pdrop);
  read(json, "attn_pdrop", c.attn_pdrop);
  read(json, "resid_pdrop", c.resid_pdrop);
  read(json, "layer_norm_epsilon", c.layer_norm_epsilon);
  read(json, "initializer_range", c.initializer_range);
  read(json, "scale_attn_weights", c.scale_attn_weights);
  read(json, "scale_attn_by_inverse_layer_idx", c.scale_attn_by_inverse_layer_idx);
  read(json, "bos_token_id", c.bos_token_id);
  read(json, "eos_token_id", c.eos_token_id);
  bool tied = true, cross_attention = false;
  read(json, "tie_word_embeddings", tied);
  read(json, "add_cross_attention", cross_attention);
  TARE_CHECK(tied, "config.json: tie_word_embeddings is false; only a head tied to wte is supported");
  TARE_CHECK(!cross_attention, "config.json: add_cross_attention is true, which is not supported");
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
