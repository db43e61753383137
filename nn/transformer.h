// SPDX-License-Identifier: Apache-2.0
// The parts of a pre-norm transformer (Vaswani et al., 2017; Radford et al., 2019): self-attention over a
// packed projection, the MLP, and the block of both with its residual connections.
#pragma once

#include <string>
#include <vector>

#include "tare/nn/activation.h"
#include "tare/nn/dropout.h"
#include "tare/nn/linear.h"
#include "tare/nn/norm.h"

namespace tare::nn {

struct TransformerConfig {
  int64_t width = 0;  // C
  int64_t heads = 0;  // H; the head size is D = C / H
  int64_t inner = 0;  // of the MLP
  bool causal = true;
  double attention_scale = 0;  // of the scores; 0: 1 / sqrt(D)
  Activation activation = Activation::gelu_tanh;
  double norm_epsilon = 1e-5;
  double attention_dropout = 0;  // of the attention weights
  double residual_dropout = 0;   // of what is added to the residual stream
  WeightLayout layout = WeightLayout::out_in;
  Init weight = Init::normal(0.02);
  Init projection = Init::normal(0.02);  // of the two layers that write to the residual stream
};

// Keys and values of one layer for the tokens of a text so far.
struct KeyValues {
  Tensor keys, values;  // (B, H, capacity, D)
  int64_t length = 0;   // tokens stored
};

// What attention has to know besides x.
struct AttentionInput {
  Tensor mask = {};            // (B, S) bool: which of all tokens, those in the cache too, are no padding
  KeyValues* cache = nullptr;  // x continues what is stored there, and is stored too; only without gradients
};

class SelfAttention : public Module {
 public:
  SelfAttention(const TransformerConfig& config, const ModuleOptions& options);
  // x (B, T, C) -> (B, T, C). With `norm`, attention over norm(x), of which only x is kept for backward.
  Var forward(const Var& x, const AttentionInput& input = {}, const LayerNorm* norm = nullptr) const;
  std::string describe() const override;

  Linear c_attn, c_proj;  // C -> 3 C: queries, keys, values; C -> C
  Dropout resid_dropout;

 private:
  Var attend(const Var& qkv, const AttentionInput& input) const;
  int64_t heads_;
  bool causal_;
  double scale_, dropout_;
};

class Mlp : public Module {
 public:
  Mlp(const TransformerConfig& config, const ModuleOptions& options);
  // x (..., C) -> (..., C); `norm` as above. The activation is computed again in backward, not kept.
  Var forward(const Var& x, const LayerNorm* norm = nullptr) const;
  std::string describe() const override;

  Linear c_fc, c_proj;
  Dropout dropout;

 private:
  Activation activation_;
};

// x + attention(norm(x)), then x + mlp(norm(x)).
class TransformerBlock : public Module {
 public:
  TransformerBlock(const TransformerConfig& config, const ModuleOptions& options);
  Var forward(const Var& x, const AttentionInput& input = {}) const;  // (B, T, C) -> (B, T, C)
  std::string describe() const override;

  LayerNorm ln_1;
  SelfAttention attn;
  LayerNorm ln_2;
  Mlp mlp;
};

}  // namespace tare::nn
