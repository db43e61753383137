// SPDX-License-Identifier: Apache-2.0
// Texts from a language model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tare/nn/causal_lm.h"
#include "tare/nn/sampling.h"

namespace tare::nn {

struct GenerationOptions {
  int64_t tokens = 100;  // to append
  SamplingOptions sampling = {};
  // Keep keys and values of the text so far, so that a token costs one token's work. Without them the same
  // tokens come out, apart from rounding.
  bool use_cache = true;
  std::function<void(int64_t token)> on_token = {};  // called as each is chosen
};

// The tokens that follow `prompt`. When the text has filled the model's positions, the model goes on with its
// last half as context, so there is no limit on `tokens`. The model is in eval mode meanwhile. Error on an
// empty prompt, one longer than the positions, or ids outside the vocabulary.
std::vector<int64_t> generate(CausalLm& model, const std::vector<int64_t>& prompt,
                              const GenerationOptions& options);

}  // namespace tare::nn
