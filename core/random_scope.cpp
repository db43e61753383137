// SPDX-License-Identifier: Apache-2.0
#include "tare/core/random_scope.h"

#include <utility>

#include "tare/core/error.h"
#include "tare/core/scope.h"

namespace tare {
namespace {

thread_local RandomState* innermost = nullptr;

}  // namespace

RngKey RandomState::next_key() {
  const uint64_t path = current_path_hash();
  // RngKey::mix is splitmix64 over the stream: neighbours give unrelated keys.
  return {context_.seed, path + drawn_[path]++};
}

RandomScope::RandomScope(RandomState state)
    : state_(std::move(state)), outer_(std::exchange(innermost, &state_)) {}
RandomScope::~RandomScope() { innermost = outer_; }

RandomState& current_random() {
  TARE_CHECK(innermost,
             "a random op (dropout in training) outside any RandomScope: put `const "
             "tare::RandomScope random({.seed = seed, .update = step});` before the forward, or call "
             "eval() on the model");
  return *innermost;
}

RandomState* find_random() { return innermost; }

}  // namespace tare
