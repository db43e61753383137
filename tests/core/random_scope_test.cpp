// SPDX-License-Identifier: Apache-2.0
// The scope of random ops: nesting, and the keys that it gives out.
#include "tare/core/random_scope.h"

#include <set>

#include <gtest/gtest.h>

#include "tare/core/scope.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

uint64_t next_stream() { return current_random().next_key().stream; }

TEST(RandomScope, IsRestored) {
  const RandomScope outer({5, 6, 7, 2});
  {
    const RandomScope inner({8, 9, 10, 1});
    EXPECT_EQ(current_random().context().update, 9u);
  }
  EXPECT_EQ(current_random().context().first_sample, 7);
  EXPECT_EQ(current_random().context().sample_stride, 2);
}

TEST(RandomScope, OutsideOfOneIsAnErrorThatSaysWhatToDo) {
  EXPECT_ERROR((void)current_random(), "RandomScope random(", "eval()");
  { const RandomScope scope({1, 2, 0, 1}); }
  EXPECT_ERROR((void)current_random(), "RandomScope");
}

TEST(RandomScope, EachRandomOpHasAKeyOfItsOwnThatTheNextScopeRepeats) {
  const auto draw = [] {
    const RandomScope scope({1, 2, 0, 1});
    std::vector<uint64_t> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(next_stream());
    for (const char* path : {"h.0", "h.1", "h.0"}) {
      const PathScope there(path);
      streams.push_back(next_stream());
    }
    return streams;
  };
  const auto streams = draw();
  EXPECT_EQ(std::set<uint64_t>(streams.begin(), streams.end()).size(), streams.size());
  EXPECT_EQ(draw(), streams);
}

TEST(RandomScope, AnOpsKeyDoesNotDependOnOpsElsewhere) {
  const PathScope here("h.3");
  uint64_t alone = 0;
  {
    const RandomScope scope({1, 2, 0, 1});
    alone = next_stream();
  }
  const RandomScope scope({1, 2, 0, 1});
  {
    const PathScope below("attn");
    (void)next_stream();
  }
  {
    const RandomScope inner({1, 2, 0, 1});
    (void)next_stream();
  }
  EXPECT_EQ(next_stream(), alone);
}

TEST(RandomScope, ACopyOfTheStateRepeatsWhatFollowed) {
  const RandomScope scope({1, 2, 0, 1});
  const uint64_t first = next_stream();
  const RandomState copy = current_random();
  const uint64_t second = next_stream();
  {
    const RandomScope again(copy);
    EXPECT_EQ(next_stream(), second);
  }
  const uint64_t third = next_stream();
  EXPECT_EQ(std::set<uint64_t>({first, second, third}).size(), 3u);
}

}  // namespace
}  // namespace tare
