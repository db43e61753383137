// SPDX-License-Identifier: Apache-2.0
// GPT-2: token and position embeddings, pre-norm blocks, a final LayerNorm, and a head tied to the token
// embedding. Names and layouts of parameters are those of Hugging Face's GPT2LMHeadModel without its prefix
// "transformer.".
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tare/nn/causal_lm.h"
#include "tare/nn/embedding.h"
#include "tare/nn/models/gpt2_config.h"
#include "tare/nn/transformer.h"

namespace tare::nn {

class Gpt2 : public CausalLm {
 public:
  // Without values: initialize(seed) gives GPT-2's (normal with initializer_range, the layers that write to
  // the residual stream over sqrt(2 n_layer), zero biases).
  explicit Gpt2(const Gpt2Config& config, const ModuleOptions& options = {});
  // A folder with config.json and model.safetensors, or its shards with their index. Names with and without
  // "transformer."; the masks that old files hold are ignored. The model is in eval mode: call train() to
  // train it. Error that lists names and shapes that differ, and for a head that is not tied.
  static std::unique_ptr<Gpt2> from_pretrained(const std::filesystem::path& dir,
                                               const ModuleOptions& options = {});
  // Fills the parameters of this model from such a folder's weights. Errors as those of from_pretrained,
  // before anything is changed.
  void load_pretrained(const std::filesystem::path& dir);
  // config.json and model.safetensors, which transformers loads. The folder is made if need be.
  void save_pretrained(const std::filesystem::path& dir);

  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return config_.n_positions; }
  Var hidden(const LmInput& input) const override;
  const Var& head_weight() const override { return wte.weight; }
  KeyValueCache make_cache(int64_t batch, int64_t capacity) const override;
  std::string describe() const override;
  const Gpt2Config& config() const { return config_; }

  Embedding wte, wpe;
  Dropout drop;
  std::vector<std::unique_ptr<TransformerBlock>> h;
  LayerNorm ln_f;

 private:
  Gpt2Config config_;
};

}  // namespace tare::nn
