// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/models/gpt2.h"

#include <cmath>
#include <cstring>

#include "tare/autograd/ops.h"
#include "tare/core/safetensors.h"
#include "tare/nn/pretrained.h"

namespace tare::nn {
namespace {

TransformerConfig block_config(const Gpt2Config& c, int64_t layer) {
  TransformerConfig t;
  t.width = c.n_embd;
  t.heads = c.n_head;
  t.inner = c.inner();
  t.attention_scale = c.scale_attn_weights ? 1 / std::sqrt(double(c.n_embd) / double(c.n_head)) : 1;
  if (c.scale_attn_by_inverse_layer_idx) t.attention_scale /= double(layer + 1);
  t.activation = c.activation_function;
  t.norm_epsilon = c.layer_norm_epsilon;
  t.attention_dropout = c.attn_pdrop;
  t.residual_dropout = c.resid_pdrop;
  t.layout = WeightLayout::in_out;
  t.weight = Init::normal(c.initializer_range);
  t.projection = Init::normal(c.initializer_range / std::sqrt(2 * double(c.n_layer)));
  return t;
}

constexpr std::string_view kPrefix = "transformer.", kHead = "lm_head.weight";

// The model's name for a tensor of the file; "" for the masks that old files hold as buffers.
std::string name_in_model(std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const bool in_block = name.starts_with("h.");
  if (in_block && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))) return "";
  return name == kHead ? "" : std::string(name);  // of the head: check_tied
}

// A file may hold the tied head as well, as a copy of the embedding.
void check_tied(const std::filesystem::path& dir) {
  const SafetensorsModel file(dir);
  if (!file.contains(kHead)) return;
  for (const std::string& name : file.names()) {
    if (name_in_model(name) != "wte.weight") continue;
    const Tensor tied = file.tensor(name), head = file.tensor(kHead).to(tied.dtype());
    TARE_CHECK(
        head.shape() == tied.shape() && std::memcmp(head.raw(), tied.raw(), size_t(tied.nbytes())) == 0,
        dir.string(), ": ", kHead, " is not ", name, "; only a tied head is supported");
  }
}

}  // namespace

Gpt2::Gpt2(const Gpt2Config& config, const ModuleOptions& options)
    : wte(config.vocab_size, config.n_embd, Init::normal(config.initializer_range), options),
      wpe(config.n_positions, config.n_embd, Init::normal(config.initializer_range), options),
      drop(config.embd_pdrop),
      ln_f(config.n_embd, config.layer_norm_epsilon, options),
      config_(config) {
  config.check();
  register_module("wte", wte);
  register_module("wpe", wpe);
  register_module("drop", drop);
  for (int64_t i = 0; i < config.n_layer; ++i) {
    h.push_back(std::make_unique<TransformerBlock>(block_config(config, i), options));
    register_module("h." + std::to_string(i), *h.back());
  }
  register_module("ln_f", ln_f);
}

Var Gpt2::hidden(const LmInput& input) const {
  const ForwardScope scope(*this);
  TARE_CHECK(input.ids.dim() == 2, "gpt2: ids have shape ", input.ids.shape(), ", expected (B, T)");
  const int64_t begin = input.cache ? input.cache->length() : 0, end = begin + input.ids.size(1);
  TARE_CHECK(end <= config_.n_positions, "gpt2: a text of ", end, " tokens, but the model has ",
             config_.n_positions, " positions");
  const Tensor positions =
      Tensor::arange(double(begin), double(end), 1, {DType::i64, input.ids.device(), {}});
  Var x = drop.forward(wte.forward(input.ids) + wpe.forward(positions));  // (B, T, C)
  for (size_t i = 0; i < h.size(); ++i)
    x = h[i]->forward(x, {input.mask, input.cache ? &input.cache->layers[i] : nullptr});
  return ln_f.forward(x);
}

KeyValueCache Gpt2::make_cache(int64_t batch, int64_t capacity) const {
  const Shape shape{batch, config_.n_head, capacity, config_.n_embd / config_.n_head};
  const TensorOptions options{wte.weight.dtype(), wte.weight.device(), Category::workspace};
  KeyValueCache cache;
  for (int64_t i = 0; i < config_.n_layer; ++i)
    cache.layers.push_back({Tensor::empty(shape, options), Tensor::empty(shape, options)});
  return cache;
}

std::string Gpt2::describe() const {
  return detail::concat("Gpt2(vocabulary ", config_.vocab_size, ", ", config_.n_positions, " positions, ",
                        config_.n_layer, " layers, ", config_.n_head, " heads, width ", config_.n_embd, ")");
}

std::unique_ptr<Gpt2> Gpt2::from_pretrained(const std::filesystem::path& dir, const ModuleOptions& options) {
  auto model = std::make_unique<Gpt2>(Gpt2Config::from_file(dir / "config.json"), options);
  model->load_pretrained(dir);
  model->eval();
  return model;
}

void Gpt2::load_pretrained(const std::filesystem::path& dir) {
  check_tied(dir);
  load_weights(*this, dir, name_in_model);
}

void Gpt2::save_pretrained(const std::filesystem::path& dir) {
  Json config = config_.to_json();
  config.set("dtype", torch_name_of(wte.weight.dtype()));
  save_model(*this, dir, config, kPrefix);
}

}  // namespace tare::nn
