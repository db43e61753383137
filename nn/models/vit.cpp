// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/models/vit.h"

#include "tare/autograd/ops.h"
#include "tare/nn/pretrained.h"

namespace tare::nn {
namespace {

LinearInit linear_init(const VitConfig& c, bool has_bias = true) {
  return {.weight = Init::normal(c.initializer_range), .bias = Init::zeros(), .has_bias = has_bias};
}

std::string name_in_model(std::string_view name) {
  return name.starts_with("vit.pooler.") ? "" : std::string(name);  // no part of a classifier
}

}  // namespace

// ---- a layer

VitLayer::VitLayer(const VitConfig& c, const ModuleOptions& options)
    : query(c.hidden_size, c.hidden_size, linear_init(c, c.qkv_bias), options),
      key(c.hidden_size, c.hidden_size, linear_init(c, c.qkv_bias), options),
      value(c.hidden_size, c.hidden_size, linear_init(c, c.qkv_bias), options),
      attention_output(c.hidden_size, c.hidden_size, linear_init(c), options),
      intermediate(c.hidden_size, c.intermediate_size, linear_init(c), options),
      output(c.intermediate_size, c.hidden_size, linear_init(c), options),
      layernorm_before(c.hidden_size, c.layer_norm_eps, options),
      layernorm_after(c.hidden_size, c.layer_norm_eps, options),
      drop(c.hidden_dropout_prob),
      heads_(c.num_attention_heads),
      dropout_(c.attention_probs_dropout_prob),
      activation_(c.hidden_act) {
  register_module("attention.attention.query", query);
  register_module("attention.attention.key", key);
  register_module("attention.attention.value", value);
  register_module("attention.output.dense", attention_output);
  register_module("intermediate.dense", intermediate);
  register_module("output.dense", output);
  register_module("layernorm_before", layernorm_before);
  register_module("layernorm_after", layernorm_after);
  register_module("drop", drop);
}

Var VitLayer::attend(const Var& x) const {
  const int64_t B = x.size(0), T = x.size(1), C = x.size(2);
  const auto heads = [&](const Linear& layer) {  // (B, H, T, D)
    return transpose(view(layer.forward(x), {B, T, heads_, C / heads_}), 1, 2);
  };
  const Var y = attention(heads(query), heads(key), heads(value), {.dropout = training() ? dropout_ : 0});
  return attention_output.forward(reshape(transpose(y, 1, 2), {B, T, C}));
}

Var VitLayer::forward(const Var& x) const {
  const ForwardScope scope(*this);
  const Var y = x + drop.forward(attend(layernorm_before.forward(x)));
  const Var h = intermediate.forward(layernorm_after.forward(y));
  return y + drop.forward(output.forward(activate(activation_, h)));
}

// ---- the model

Vit::Vit(const VitConfig& config, const ModuleOptions& options)
    : projection(config.num_channels, config.hidden_size, config.patch_size, {.stride = config.patch_size},
                 {.weight = Init::normal(config.initializer_range), .bias = Init::zeros()}, options),
      drop(config.hidden_dropout_prob),
      layernorm(config.hidden_size, config.layer_norm_eps, options),
      classifier(config.hidden_size, config.num_labels, linear_init(config), options),
      config_(config) {
  config.check();
  const Init normal = Init::normal(config.initializer_range);
  const int64_t C = config.hidden_size;
  register_parameter("vit.embeddings.cls_token", cls_token, {1, 1, C}, normal, options);
  register_parameter("vit.embeddings.position_embeddings", position_embeddings, {1, 1 + config.patches(), C},
                     normal, options);
  register_module("vit.embeddings.patch_embeddings.projection", projection);
  register_module("vit.embeddings.dropout", drop);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    layers.push_back(std::make_unique<VitLayer>(config, options));
    register_module("vit.encoder.layer." + std::to_string(i), *layers.back());
  }
  register_module("vit.layernorm", layernorm);
  register_module("classifier", classifier);
}

Var Vit::embed(const Tensor& images) const {
  const int64_t B = images.size(0), C = config_.hidden_size;
  const Var tokens = transpose(view(projection.forward(images), {B, C, config_.patches()}), 1, 2);
  return drop.forward(cat({expand(cls_token, {B, 1, C}), tokens}, 1) + position_embeddings);
}

Var Vit::forward(const Tensor& images) const {
  const ForwardScope scope(*this);
  check_images("vit", images, projection.weight.dtype());
  Var x = embed(images);
  for (const auto& layer : layers) x = layer->forward(x);
  return classifier.forward(layernorm.forward(select(x, 1, 0)));
}

std::string Vit::describe() const {
  return detail::concat("Vit(", config_.num_channels, " x ", config_.image_size, " x ", config_.image_size,
                        ", patches of ", config_.patch_size, ", ", config_.num_hidden_layers, " layers, ",
                        config_.num_attention_heads, " heads, width ", config_.hidden_size, ", ",
                        config_.num_labels, " classes)");
}

std::unique_ptr<Vit> Vit::from_pretrained(const std::filesystem::path& dir, const ModuleOptions& options) {
  auto model = std::make_unique<Vit>(VitConfig::from_file(dir / "config.json"), options);
  model->load_pretrained(dir);
  model->eval();
  return model;
}

void Vit::load_pretrained(const std::filesystem::path& dir) { load_weights(*this, dir, name_in_model); }

void Vit::save_pretrained(const std::filesystem::path& dir) {
  Json config = config_.to_json();
  config.set("dtype", torch_name_of(projection.weight.dtype()));
  save_model(*this, dir, config, "");
}

}  // namespace tare::nn
