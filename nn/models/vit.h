// SPDX-License-Identifier: Apache-2.0
// Vision transformer (Dosovitskiy et al., 2021): patches of an image as tokens behind a class token, learned
// positions, pre-norm blocks, and a linear head on the class token. Names and layouts of parameters are those
// of Hugging Face's ViTForImageClassification.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tare/nn/conv2d.h"
#include "tare/nn/dropout.h"
#include "tare/nn/image_classifier.h"
#include "tare/nn/linear.h"
#include "tare/nn/models/vit_config.h"
#include "tare/nn/norm.h"

namespace tare::nn {

// x + attention(norm(x)), then x + mlp(norm(x)); queries, keys and values are projected apart.
class VitLayer : public Module {
 public:
  VitLayer(const VitConfig& config, const ModuleOptions& options);
  Var forward(const Var& x) const;  // (B, T, C) -> (B, T, C)
  std::string describe() const override { return "VitLayer"; }

  Linear query, key, value, attention_output;  // C -> C
  Linear intermediate, output;                 // C -> intermediate_size -> C
  LayerNorm layernorm_before, layernorm_after;
  Dropout drop;

 private:
  Var attend(const Var& x) const;  // of the normed x
  int64_t heads_;
  double dropout_;
  Activation activation_;
};

class Vit : public ImageClassifier {
 public:
  // Without values: initialize(seed) gives a normal with initializer_range and zero biases.
  explicit Vit(const VitConfig& config, const ModuleOptions& options = {});
  // A folder with config.json and model.safetensors, or its shards with their index. The model is in eval
  // mode: call train() to train it. Error that lists names and shapes that differ.
  static std::unique_ptr<Vit> from_pretrained(const std::filesystem::path& dir,
                                              const ModuleOptions& options = {});
  // Fills the parameters of this model from such a folder's weights; Error before anything is changed.
  void load_pretrained(const std::filesystem::path& dir);
  // config.json and model.safetensors, which transformers loads. The folder is made if need be.
  void save_pretrained(const std::filesystem::path& dir);

  int64_t num_classes() const override { return config_.num_labels; }
  int64_t num_channels() const override { return config_.num_channels; }
  int64_t image_size() const override { return config_.image_size; }
  Var forward(const Tensor& images) const override;
  Var embed(const Tensor& images) const;  // class token and patches with their positions: (B, 1 + patches, C)
  std::string describe() const override;
  const VitConfig& config() const { return config_; }

  Var cls_token;            // (1, 1, C)
  Var position_embeddings;  // (1, 1 + patches, C)
  Conv2d projection;        // of patches: its stride is its kernel
  Dropout drop;
  std::vector<std::unique_ptr<VitLayer>> layers;
  LayerNorm layernorm;
  Linear classifier;

 private:
  VitConfig config_;
};

}  // namespace tare::nn
