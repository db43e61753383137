// SPDX-License-Identifier: Apache-2.0
// The shape of a vision transformer (Dosovitskiy et al., "An image is worth 16x16 words", 2021), as
// config.json states it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tare/core/json.h"
#include "tare/nn/activation.h"

namespace tare::nn {

// Fields carry the names of config.json; num_labels is the number of entries of its id2label. The names of
// labels have no effect, but are kept for who reads a model's folder.
struct VitConfig {
  int64_t image_size = 224;  // height and width
  int64_t patch_size = 16;
  int64_t num_channels = 3;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  int64_t num_labels = 1000;
  Activation hidden_act = Activation::gelu;
  double hidden_dropout_prob = 0, attention_probs_dropout_prob = 0;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  bool qkv_bias = true;
  std::vector<std::string> id2label = {};     // num_labels names; empty: LABEL_0, LABEL_1, ...
  std::map<std::string, Json> label2id = {};  // as it was found; empty: the reverse of id2label

  int64_t patches() const { return (image_size / patch_size) * (image_size / patch_size); }
  void set_dropout(double p) { hidden_dropout_prob = attention_probs_dropout_prob = p; }

  // "vit-b16" (1,000 classes), "vit-tiny" (digits of 28 x 28). Any other name is an Error that lists them.
  static VitConfig preset(const std::string& name);
  static const std::vector<std::string>& preset_names();

  // Absent fields take the defaults above, but two labels where none are listed, as transformers has it.
  // Error on another model_type, an activation that Tare lacks, sizes that do not fit together, an id2label
  // of other numbers than 0, 1, ..., and any field that is neither known nor without effect on the logits.
  static VitConfig from_json(const Json& json);
  static VitConfig from_file(const std::filesystem::path& path);
  Json to_json() const;
  void check() const;

  bool operator==(const VitConfig&) const = default;
};

}  // namespace tare::nn
