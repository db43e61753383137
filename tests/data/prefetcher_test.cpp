// SPDX-License-Identifier: Apache-2.0
// The prefetching thread: order, errors, stopping, and reuse of its buffers.
#include "tare/data/prefetcher.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tare::data {
namespace {

struct Slot {
  int64_t number = -1;
  std::vector<int64_t> values = std::vector<int64_t>(100);
};

void fill_slot(int64_t number, Slot& slot) {
  slot.number = number;
  for (int64_t& value : slot.values) value = number;
}

TEST(Prefetcher, BuffersComeInOrderAndWhole) {
  Prefetcher<Slot> prefetcher(std::vector<Slot>(3), fill_slot, 7);
  for (int64_t number = 7; number < 2000; ++number) {
    const auto slot = prefetcher.next();
    ASSERT_EQ(slot->number, number);
    ASSERT_EQ(slot->values, std::vector<int64_t>(100, number));
  }
}

TEST(Prefetcher, OnlyThePoolIsUsedAndNoBufferIsUsedTwiceAtOnce) {
  std::vector<Slot> pool(4);
  Prefetcher<Slot> prefetcher(std::move(pool), fill_slot);
  std::vector<Slot*> seen;
  for (int i = 0; i < 200; ++i) {
    const auto a = prefetcher.next(), b = prefetcher.next();
    ASSERT_NE(a.get(), b.get());
    ASSERT_EQ(a->values[50] + 1, b->values[50]);
    for (Slot* slot : {a.get(), b.get()})
      if (std::find(seen.begin(), seen.end(), slot) == seen.end()) seen.push_back(slot);
  }
  EXPECT_LE(seen.size(), 4u);
}

TEST(Prefetcher, AnExceptionIsRethrownAfterWhatWasFilledBeforeIt) {
  Prefetcher<Slot> prefetcher(std::vector<Slot>(3), [](int64_t number, Slot& slot) {
    if (number == 2) throw std::out_of_range("number two");
    fill_slot(number, slot);
  });
  EXPECT_EQ(prefetcher.next()->number, 0);
  EXPECT_EQ(prefetcher.next()->number, 1);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(prefetcher.next(), std::out_of_range);
}

TEST(Prefetcher, StopsAtOnceWhetherItsBuffersAreFullFillingOrHeld) {
  for (int round = 0; round < 50; ++round) {
    Prefetcher<Slot> untouched(std::vector<Slot>(2), fill_slot);
    Prefetcher<Slot> used(std::vector<Slot>(2), fill_slot);
    for (int i = 0; i < round; ++i) used.next();
  }
}

TEST(Prefetcher, ABufferOutlivesThePrefetcherWhileItIsHeld) {
  std::shared_ptr<Slot> held;
  {
    Prefetcher<Slot> prefetcher(std::vector<Slot>(2), fill_slot);
    held = prefetcher.next();
  }
  EXPECT_EQ(held->values, std::vector<int64_t>(100, 0));
}

TEST(Prefetcher, BuffersMayBeLetGoInAnotherThread) {
  Prefetcher<Slot> prefetcher(std::vector<Slot>(3), fill_slot);
  std::future<void> earlier;
  for (int64_t number = 0; number < 500; ++number) {
    auto slot = prefetcher.next();
    if (earlier.valid()) earlier.get();
    earlier = std::async(std::launch::async, [slot = std::move(slot), number]() mutable {
      EXPECT_EQ(slot->values, std::vector<int64_t>(100, number));
      slot.reset();
    });
  }
  earlier.get();
}

TEST(Prefetcher, ItRunsAheadOfItsUser) {
  std::atomic<int64_t> filled = 0;
  Prefetcher<Slot> prefetcher(std::vector<Slot>(4), [&](int64_t number, Slot& slot) {
    fill_slot(number, slot);
    filled = number + 1;
  });
  while (filled < 4) std::this_thread::yield();  // without a call of next()
  EXPECT_EQ(prefetcher.next()->number, 0);
  while (filled < 5) std::this_thread::yield();
}

}  // namespace
}  // namespace tare::data
