// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/transformer.h"

#include "tare/autograd/ops.h"

namespace tare::nn {
namespace {

// layer(norm(x)), for which backward keeps x alone; layer(x) without a norm.
Var normed_linear(const Var& x, const LayerNorm* norm, const Linear& layer) {
  if (!norm) return layer.forward(x);
  norm->check_has_values();
  const ForwardScope scope(layer);
  return layernorm_linear(x, norm->weight, norm->bias, norm->epsilon(), layer.weight, layer.bias,
                          layer.layout());
}

// layer(activation(x)), for which backward keeps x alone if it can.
Var activated_linear(const Var& x, Activation activation, const Linear& layer) {
  const ForwardScope scope(layer);
  switch (activation) {
    case Activation::gelu_tanh:
      return gelu_tanh_linear(x, layer.weight, layer.bias, layer.layout());
    case Activation::gelu:
      return gelu_erf_linear(x, layer.weight, layer.bias, layer.layout());
    case Activation::relu:
    case Activation::silu:
      return linear(activate(activation, x), layer.weight, layer.bias, layer.layout());
  }
  TARE_UNREACHABLE();
}

LinearInit with_zero_bias(const Init& weight) { return {.weight = weight, .bias = Init::zeros()}; }

// Appends k, v (B, H, T, D) to the cache, and makes them views of all that it then holds.
void extend(KeyValues& cache, Tensor& k, Tensor& v) {
  const int64_t begin = cache.length, end = begin + k.size(2);
  TARE_CHECK(end <= cache.keys.size(2), "attention: ", end, " tokens, but the cache has room for ",
             cache.keys.size(2));
  Tensor keys = cache.keys.slice(2, begin, end), values = cache.values.slice(2, begin, end);
  copy(k, keys);
  copy(v, values);
  cache.length = end;
  k = cache.keys.slice(2, 0, end);
  v = cache.values.slice(2, 0, end);
}

}  // namespace

// ---- attention

SelfAttention::SelfAttention(const TransformerConfig& config, const ModuleOptions& options)
    : c_attn(config.width, 3 * config.width, config.layout, with_zero_bias(config.weight), options),
      c_proj(config.width, config.width, config.layout, with_zero_bias(config.projection), options),
      resid_dropout(config.residual_dropout),
      heads_(config.heads),
      causal_(config.causal),
      scale_(config.attention_scale),
      dropout_(config.attention_dropout) {
  TARE_CHECK(heads_ > 0 && config.width % heads_ == 0, "SelfAttention: width ", config.width,
             " does not divide into ", heads_, " heads");
  register_module("c_attn", c_attn);
  register_module("c_proj", c_proj);
  register_module("resid_dropout", resid_dropout);
}

Var SelfAttention::forward(const Var& x, const AttentionInput& input, const LayerNorm* norm) const {
  const ForwardScope scope(*this);
  TARE_CHECK(x.dim() == 3, "SelfAttention: x has shape ", x.shape(), ", expected (B, T, C)");
  const Var y = attend(normed_linear(x, norm, c_attn), input);
  return resid_dropout.forward(c_proj.forward(y));
}

std::string SelfAttention::describe() const {
  return detail::concat("SelfAttention(", heads_, " heads", causal_ ? ", causal" : "", ")");
}

Var SelfAttention::attend(const Var& qkv, const AttentionInput& input) const {
  const AttentionOptions options{causal_, scale_, training() ? dropout_ : 0, input.mask};
  if (!input.cache) return packed_attention(qkv, heads_, options);
  TARE_CHECK(!grad_enabled(), "SelfAttention: a cache of keys and values works without gradients only");
  const int64_t B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3;
  const Tensor parts =
      qkv.value().view({B, T, 3, heads_, C / heads_}).permute({2, 0, 3, 1, 4});  // (3, B, H, T, D)
  Tensor k = parts.select(0, 1), v = parts.select(0, 2);
  extend(*input.cache, k, v);
  return reshape(transpose(attention(parts.select(0, 0), k, v, options), 1, 2), {B, T, C});
}

// ---- MLP

Mlp::Mlp(const TransformerConfig& config, const ModuleOptions& options)
    : c_fc(config.width, config.inner, config.layout, with_zero_bias(config.weight), options),
      c_proj(config.inner, config.width, config.layout, with_zero_bias(config.projection), options),
      dropout(config.residual_dropout),
      activation_(config.activation) {
  register_module("c_fc", c_fc);
  register_module("c_proj", c_proj);
  register_module("dropout", dropout);
}

Var Mlp::forward(const Var& x, const LayerNorm* norm) const {
  const ForwardScope scope(*this);
  return dropout.forward(activated_linear(normed_linear(x, norm, c_fc), activation_, c_proj));
}

std::string Mlp::describe() const { return detail::concat("Mlp(", name_of(activation_), ")"); }

// ---- block

TransformerBlock::TransformerBlock(const TransformerConfig& config, const ModuleOptions& options)
    : ln_1(config.width, config.norm_epsilon, options),
      attn(config, options),
      ln_2(config.width, config.norm_epsilon, options),
      mlp(config, options) {
  register_module("ln_1", ln_1);
  register_module("attn", attn);
  register_module("ln_2", ln_2);
  register_module("mlp", mlp);
}

Var TransformerBlock::forward(const Var& x, const AttentionInput& input) const {
  const ForwardScope scope(*this);
  const Var y = x + attn.forward(x, input, &ln_1);
  return y + mlp.forward(y, &ln_2);
}

std::string TransformerBlock::describe() const { return "TransformerBlock"; }

}  // namespace tare::nn
