// SPDX-License-Identifier: Apache-2.0
// The shape of a GPT-2 (Radford et al., "Language models are unsupervised multitask learners", 2019), as
// config.json states it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tare/core/json.h"
#include "tare/nn/activation.h"

namespace tare::nn {

// Fields carry the names of config.json.
struct Gpt2Config {
  int64_t vocab_size = 50257;
  int64_t n_positions = 1024;
  int64_t n_embd = 768;
  int64_t n_layer = 12;
  int64_t n_head = 12;
  std::optional<int64_t> n_inner;  // width of the MLP; 4 n_embd by default
  Activation activation_function = Activation::gelu_tanh;
  double embd_pdrop = 0.1, attn_pdrop = 0.1, resid_pdrop = 0.1;
  double layer_norm_epsilon = 1e-5;
  double initializer_range = 0.02;
  bool scale_attn_weights = true;                // scores over sqrt(head size)
  bool scale_attn_by_inverse_layer_idx = false;  // and over the layer's number, from 1
  std::optional<int64_t> bos_token_id, eos_token_id;

  int64_t inner() const { return n_inner.value_or(4 * n_embd); }
  void set_dropout(double p) { embd_pdrop = attn_pdrop = resid_pdrop = p; }

  // "gpt2", "gpt2-medium"; for bytes "demo", "small". Any other name is an Error that lists them.
  static Gpt2Config preset(const std::string& name);
  static const std::vector<std::string>& preset_names();

  // Absent fields take the defaults above; transformers' other names for the sizes ("hidden_size",
  // "num_hidden_layers", ...) are understood. Error on another model_type, an activation that Tare lacks, a
  // head of its own, cross-attention, sizes that do not fit together, two names that disagree, and any field
  // that is neither known nor without effect on the model.
  static Gpt2Config from_json(const Json& json);
  static Gpt2Config from_file(const std::filesystem::path& path);
  Json to_json() const;
  void check() const;

  bool operator==(const Gpt2Config&) const = default;
};

}  // namespace tare::nn
