// SPDX-License-Identifier: Apache-2.0
// What all language models that predict the next token have in common; training and generation work on it.
#pragma once

#include <cstdint>
#include <vector>

#include "tare/autograd/ops.h"
#include "tare/nn/module.h"
#include "tare/nn/transformer.h"

namespace tare::nn {

// Keys and values of every layer for the texts generated so far.
struct KeyValueCache {
  std::vector<KeyValues> layers;
  int64_t length() const { return layers.empty() ? 0 : layers.front().length; }
};

struct LmInput {
  Tensor ids;        // (B, T) integers
  Tensor mask = {};  // (B, S) bool: false where a text, cache included, has padding; undefined: none
  KeyValueCache* cache = nullptr;  // ids continue the texts in it; only without gradients
};

class CausalLm : public Module {
 public:
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_positions() const = 0;  // longest text
  // The final hidden states, (B, T, C), that the head turns into logits. Error on ids out of range or texts
  // longer than max_positions().
  virtual Var hidden(const LmInput& input) const = 0;
  virtual const Var& head_weight() const = 0;  // (V, C)
  virtual KeyValueCache make_cache(int64_t batch, int64_t capacity) const = 0;

  Var forward(const LmInput& input) const;         // logits (B, T, V)
  Tensor next_logits(const LmInput& input) const;  // (B, V): after the last token of each row of ids
  // scale times the sum of the losses of the targets (B, T) i64, those that are not -100, and their number;
  // the logits are never whole in memory. With the count of a whole batch known beforehand, scale = 1 / count
  // gives the gradients of its mean, however it is cut into micro-batches.
  LossSum loss(const LmInput& input, const Tensor& targets, double scale = 1) const;
};

}  // namespace tare::nn
