// SPDX-License-Identifier: Apache-2.0
// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <span>

namespace tare::nn {

struct SamplingOptions {
  double temperature = 1;  // 0: always the most probable token
  int64_t top_k = 0;       // only the k most probable ones; 0: all
  int64_t vocabulary = 0;  // only the first so many tokens; 0: all
  uint64_t seed = 0;
};

// Error on a negative or non-finite temperature, a negative top_k or vocabulary.
void check(const SamplingOptions& options);

// Token `index` of a text: drawn from softmax(logits / temperature) over the top_k greatest logits, by the
// random number of (seed, index) alone. Equal logits rank by their position. Error on logits that are not
// finite.
int64_t choose_token(std::span<const double> logits, const SamplingOptions& options, int64_t index);

}  // namespace tare::nn
