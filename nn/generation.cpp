// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/generation.h"

#include <algorithm>

namespace tare::nn {
namespace {

// The text that the model sees, and its cache.
class Context {
 public:
  Context(const CausalLm& model, const std::vector<int64_t>& prompt, int64_t capacity, bool use_cache)
      : model_(model), text_(prompt), capacity_(capacity), use_cache_(use_cache) {
    if (use_cache_) cache_ = model_.make_cache(1, capacity_);
  }

  void append(int64_t token) {
    if (int64_t(text_.size()) == capacity_) {
      text_.erase(text_.begin(), text_.end() - capacity_ / 2);
      for (KeyValues& layer : cache_.layers) layer.length = 0;
    }
    text_.push_back(token);
  }

  // The logits of the token after the text.
  std::vector<double> next_logits() {
    const int64_t done = use_cache_ ? cache_.length() : 0;
    const std::vector<int64_t> rest(text_.begin() + done, text_.end());
    LmInput input{Tensor::from_vector(rest, {1, int64_t(rest.size())}).to(model_.head_weight().device())};
    if (use_cache_) input.cache = &cache_;
    return model_.next_logits(input).to_vector<double>();
  }

 private:
  const CausalLm& model_;
  std::vector<int64_t> text_;
  int64_t capacity_;
  bool use_cache_;
  KeyValueCache cache_;
};

}  // namespace

std::vector<int64_t> generate(CausalLm& model, const std::vector<int64_t>& prompt,
                              const GenerationOptions& options) {
  check(options.sampling);
  const int64_t positions = model.max_positions();
  TARE_CHECK(options.tokens >= 0, "generate: ", options.tokens, " tokens, expected 0 or more");
  TARE_CHECK(!prompt.empty(), "generate: the prompt is empty");
  TARE_CHECK(int64_t(prompt.size()) <= positions, "generate: the prompt has ", prompt.size(),
             " tokens, but the model has ", positions, " positions");
  for (const int64_t id : prompt)
    TARE_CHECK(id >= 0 && id < model.vocab_size(), "generate: token ", id, " of the prompt is outside the ",
               model.vocab_size(), " of the vocabulary");

  const EvalScope eval(model);
  const int64_t capacity = std::min(positions, int64_t(prompt.size()) + options.tokens);
  Context context(model, prompt, capacity, options.use_cache);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < options.tokens; ++i) {
    if (i > 0) context.append(tokens.back());
    tokens.push_back(choose_token(context.next_logits(), options.sampling, i));
    if (options.on_token) options.on_token(tokens.back());
  }
  return tokens;
}

}  // namespace tare::nn
