// SPDX-License-Identifier: Apache-2.0
// Where in training the calling thread is. Together with the module path this names every random number that
// an op draws, so that dropout does not depend on how a batch is cut into micro-batches or ranks.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "tare/core/rng.h"

namespace tare {

// Sample b of a batch has the global index first_sample + b * sample_stride.
struct RandomContext {
  uint64_t seed = 0;
  uint64_t update = 0;
  int64_t first_sample = 0;
  int64_t sample_stride = 1;
};

// A context and what was drawn in it. A scope opened with a copy repeats what followed the copy.
class RandomState {
 public:
  explicit RandomState(const RandomContext& context) : context_(context) {}
  const RandomContext& context() const { return context_; }
  // The key of the next random op under the current path: the n-th one there since the scope was opened has
  // the same key in every run, on every device and for every micro-batch.
  RngKey next_key();

 private:
  RandomContext context_;
  std::unordered_map<uint64_t, uint64_t> drawn_;  // random ops so far, by the hash of their path
};

// While it lives, random ops of the calling thread draw from its state. Open one for each forward of a
// training step; a second forward in the same scope goes on, with other numbers.
class RandomScope {
 public:
  explicit RandomScope(const RandomContext& context) : RandomScope(RandomState(context)) {}
  explicit RandomScope(RandomState state);
  ~RandomScope();
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  RandomState state_;
  RandomState* outer_;
};

// Of the innermost scope; Error outside any.
RandomState& current_random();
// The same; null outside any.
RandomState* find_random();

}  // namespace tare
