// SPDX-License-Identifier: Apache-2.0
// The caching allocator on page sources that count and refuse; and that meta holds what the CPU holds.
#include "tare/core/allocator.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tare/core/tensor.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

constexpr int64_t kMiB = 1 << 20, kHugePage = 2 * kMiB;
#ifdef __SANITIZE_ADDRESS__
constexpr int64_t kRedZone = 64;
#else
constexpr int64_t kRedZone = 0;
#endif

// Distinct addresses without memory, up to a capacity; remembers what is mapped.
class CountedPages final : public PageSource {
 public:
  explicit CountedPages(int64_t capacity) : capacity_(capacity) {}
  void* map(int64_t bytes) override {
    ++attempts;
    EXPECT_EQ(bytes % kHugePage, 0);
    if (mapped_bytes() + bytes > capacity_) return nullptr;
    void* base = reinterpret_cast<void*>(next_);
    next_ += uintptr_t(bytes);
    mapped[base] = bytes;
    return base;
  }
  void unmap(void* base, int64_t bytes) override {
    EXPECT_EQ(mapped.at(base), bytes);
    mapped.erase(base);
  }
  bool is_backed() const override { return false; }
  bool is_cheap() const override { return true; }
  int64_t mapped_bytes() const {
    int64_t sum = 0;
    for (const auto& [base, bytes] : mapped) sum += bytes;
    return sum;
  }

  std::map<void*, int64_t> mapped;
  int attempts = 0;

 private:
  int64_t capacity_;
  uintptr_t next_ = uintptr_t(1) << 40;
};

using Block = CachingAllocator::Block;

// Large blocks are asked for with their red zone counted in, so that they fill whole pages under
// AddressSanitizer, too. What a test does not free is freed at its end.
struct Fixture {
  explicit Fixture(int64_t capacity = int64_t(1) << 40)
      : pages(new CountedPages(capacity)), allocator(std::unique_ptr<PageSource>(pages), kCpu) {}
  ~Fixture() {
    for (Block* block : taken) allocator.free(block);
  }
  Block* allocate(int64_t bytes) {
    Block* block = allocator.allocate(bytes >= kMiB ? bytes - kRedZone : bytes);
    taken.insert(block);
    return block;
  }
  void free(Block* block) {
    taken.erase(block);
    allocator.free(block);
  }
  CountedPages* pages;
  CachingAllocator allocator;
  std::set<Block*> taken;
};

TEST(Allocator, BlocksAreAlignedDisjointAndLargeEnough) {
  Fixture f;
  std::mt19937_64 random(1);
  std::map<uintptr_t, int64_t> taken;
  std::vector<std::pair<Block*, int64_t>> blocks;
  for (int i = 0; i < 3000; ++i) {
    if (!blocks.empty() && random() % 5 < 2) {
      const size_t at = random() % blocks.size();
      taken.erase(reinterpret_cast<uintptr_t>(blocks[at].first->data));
      f.free(blocks[at].first);
      blocks.erase(blocks.begin() + int64_t(at));
      continue;
    }
    const int64_t bytes = int64_t(random() % (uint64_t(1) << (random() % 24)));
    Block* block = f.allocate(bytes);
    const auto begin = reinterpret_cast<uintptr_t>(block->data);
    ASSERT_EQ(begin % 64, 0u);
    ASSERT_GE(block->size, bytes);
    const auto after = taken.upper_bound(begin);
    if (after != taken.end()) {
      ASSERT_LE(begin + uintptr_t(bytes), after->first);
    }
    if (after != taken.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + uintptr_t(before->second), begin);
    }
    taken[begin] = std::max<int64_t>(bytes, 1);
    blocks.emplace_back(block, bytes);
  }
  EXPECT_EQ(f.allocator.stats().held, f.pages->mapped_bytes());
  for (const auto& [block, bytes] : blocks) f.free(block);
  EXPECT_EQ(f.allocator.stats().in_use, 0);
  f.allocator.release_cache();
  EXPECT_EQ(f.pages->mapped.size(), 0u) << "free blocks of a segment were not merged into one";
  EXPECT_EQ(f.allocator.stats().held, 0);
  EXPECT_EQ(f.allocator.stats().segments, 0);
}

TEST(Allocator, TheSmallestFreeBlockThatFitsIsReused) {
  Fixture f;
  std::vector<Block*> blocks;
  for (const int64_t mib : {8, 4, 6, 2}) blocks.push_back(f.allocate(mib * kMiB));
  void* const four = blocks[1]->data;
  for (Block* block : blocks) f.free(block);
  const int attempts = f.pages->attempts;
  EXPECT_EQ(f.allocate(3 * kMiB)->data, four);
  EXPECT_EQ(f.pages->attempts, attempts) << "the cache was not used";
}

TEST(Allocator, LargeBlocksAreSplitAndMergedAgain) {
  Fixture f;
  Block* whole = f.allocate(16 * kMiB);
  void* const base = whole->data;
  f.free(whole);
  Block* a = f.allocate(4 * kMiB);
  Block* b = f.allocate(4 * kMiB);
  Block* c = f.allocate(4 * kMiB);
  EXPECT_EQ(a->data, base);
  EXPECT_EQ(b->data, static_cast<char*>(base) + a->size);
  EXPECT_EQ(f.pages->mapped.size(), 1u);
  f.free(a);
  f.free(c);
  f.free(b);  // joins both neighbours and the rest
  EXPECT_EQ(f.allocate(16 * kMiB)->data, base);
  EXPECT_EQ(f.pages->mapped.size(), 1u);
}

TEST(Allocator, SmallBlocksShareASegment) {
  Fixture f;
  for (int i = 0; i < 100; ++i) f.allocate(1000);
  EXPECT_EQ(f.allocator.stats().held, kHugePage);
  f.allocate(kMiB);
  EXPECT_EQ(f.allocator.stats().held, 2 * kHugePage) << "a large block has a segment of its own";
  EXPECT_EQ(f.allocator.stats().segments, 2);
}

TEST(Allocator, TheCacheIsFreedBeforeMemoryRunsOut) {
  Fixture f(16 * kMiB);
  Block* a = f.allocate(6 * kMiB);
  Block* b = f.allocate(6 * kMiB);
  f.free(a);
  f.free(b);
  Block* c = f.allocate(14 * kMiB);  // fits only without the two cached segments
  EXPECT_EQ(f.allocator.stats().held, 14 * kMiB);
  f.free(c);
  EXPECT_EQ(f.allocator.stats().peak_held, 14 * kMiB);
}

TEST(Allocator, WhatLiesIdleGoesBackBeforeTheHeapGrows) {
  Fixture f;
  const auto grown_by = [&](int64_t idle) {  // bytes held, once 200 MiB came after `idle` bytes were let go
    f.allocator.release_cache();
    f.free(f.allocate(idle));
    Block* block = f.allocate(200 * kMiB);
    const int64_t held = f.allocator.stats().held;
    f.free(block);
    return held;
  };
  EXPECT_EQ(grown_by(100 * kMiB), 300 * kMiB);
  EXPECT_EQ(grown_by(150 * kMiB), 200 * kMiB);
  Block* large = f.allocate(4096 * kMiB);  // a 16th of it may lie idle
  EXPECT_EQ(grown_by(150 * kMiB), (4096 + 350) * kMiB);
  EXPECT_EQ(f.allocator.stats().in_use, large->size);
}

TEST(Allocator, WhatLastsTakesWholeBlocksUnlessNothingElseIsLeft) {
  Fixture f(12 * kMiB);
  f.free(f.allocate(8 * kMiB));
  const auto lasting = [&](int64_t bytes) {
    Block* block = f.allocator.allocate(bytes - kRedZone, Lifetime::lasting);
    f.taken.insert(block);
    return block;
  };
  lasting(2 * kMiB);
  EXPECT_EQ(f.allocator.stats().held, 10 * kMiB) << "a state was cut out of the 8 MiB";
  Block* whole = lasting(8 * kMiB);
  EXPECT_EQ(f.allocator.stats().held, 10 * kMiB) << "a block of the right size was left lying";
  void* const base = whole->data;
  f.free(whole);
  EXPECT_EQ(f.allocate(2 * kMiB)->data, base) << "what passes is cut out of a free block";
  lasting(4 * kMiB);  // 2 MiB may still be mapped
  EXPECT_EQ(f.allocator.stats().held, 10 * kMiB);
}

TEST(Allocator, ALargeSegmentIsNoLargerThanItsBlockByMoreThanAStepOfThePages) {
  CachingAllocator cpu(huge_page_source(), kCpu);
  Block* block = cpu.allocate(9 * kMiB / 4 - kRedZone);  // a matrix of 768 x 768
  EXPECT_EQ(cpu.stats().held, 9 * kMiB / 4);
  std::memset(block->data, 1, size_t(9 * kMiB / 4 - kRedZone));
  cpu.free(block);
}

TEST(Allocator, OutOfMemoryTellsTheNumbersAfterFreeingTheCache) {
  Fixture f(16 * kMiB);
  f.allocate(4 * kMiB);
  f.free(f.allocate(8 * kMiB));
  try {
    f.allocator.allocate(13 * kMiB);
    FAIL() << "nothing was thrown";
  } catch (const OutOfMemory& error) {
    const int64_t in_use = f.allocator.stats().in_use;
    EXPECT_GE(in_use, 4 * kMiB);
    EXPECT_STREQ(error.what(), ("cpu: out of memory: asked for 13631488 bytes, " + std::to_string(in_use) +
                                " in use, " + std::to_string(f.allocator.stats().held) + " held, limit none")
                                   .c_str());
    EXPECT_LT(f.allocator.stats().held, 8 * kMiB) << "the cached 8 MiB are still counted as held";
  }
  EXPECT_NO_THROW(f.allocate(8 * kMiB)) << "the failure broke the allocator";
}

TEST(Allocator, ALimitHoldsUntilItIsLifted) {
  Fixture f;
  f.allocator.set_limit(8 * kMiB);
  Block* a = f.allocate(5 * kMiB);
  EXPECT_ERROR(f.allocator.allocate(5 * kMiB), "asked for 5242880 bytes", "limit 8388608");
  f.allocator.set_limit(0);
  Block* b = f.allocate(5 * kMiB);
  f.free(a);
  f.free(b);
  EXPECT_ERROR(f.allocator.allocate(-1), "-1 bytes");
  EXPECT_ERROR(f.allocator.allocate(INT64_MAX), "9223372036854775807 bytes");
}

TEST(Allocator, PeakHeldStartsAnewWhenReset) {
  Fixture f;
  f.free(f.allocate(8 * kMiB));
  f.allocator.release_cache();
  f.allocator.reset_peaks();
  EXPECT_EQ(f.allocator.stats().peak_held, 0);
  f.allocate(3 * kMiB);
  EXPECT_EQ(f.allocator.stats().peak_held, f.allocator.stats().held);
}

TEST(Allocator, MetaHoldsTheSameBytesAsTheCpuForAnySequence) {
  for (const uint64_t seed : {1, 2, 3}) {
    CachingAllocator cpu(huge_page_source(), kCpu), meta(virtual_page_source(), kMeta);
    std::vector<std::pair<Block*, Block*>> blocks;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 2000; ++i) {
      if (!blocks.empty() && random() % 2) {
        const size_t at = random() % blocks.size();
        cpu.free(blocks[at].first);
        meta.free(blocks[at].second);
        blocks.erase(blocks.begin() + int64_t(at));
      } else {
        const int64_t bytes = int64_t(random() % (uint64_t(1) << (random() % 25)));
        const Lifetime lifetime = random() % 3 == 0 ? Lifetime::lasting : Lifetime::passing;
        blocks.emplace_back(cpu.allocate(bytes, lifetime), meta.allocate(bytes, lifetime));
      }
      if (random() % 100 == 0) {
        cpu.release_cache();
        meta.release_cache();
      }
      const AllocatorStats a = cpu.stats(), b = meta.stats();
      ASSERT_EQ(a.held, b.held) << "step " << i;
      ASSERT_EQ(a.in_use, b.in_use) << "step " << i;
      ASSERT_EQ(a.peak_held, b.peak_held) << "step " << i;
      ASSERT_EQ(a.segments, b.segments) << "step " << i;
    }
    for (const auto& [on_cpu, on_meta] : blocks) {
      cpu.free(on_cpu);
      meta.free(on_meta);
    }
  }
}

TEST(Allocator, ThreadsShareItWithoutMixingBlocks) {
  CachingAllocator cpu(huge_page_source(), kCpu);
  std::vector<std::thread> threads;
  for (int id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937_64 random{uint64_t(id)};
      for (int i = 0; i < 300; ++i) {
        const size_t bytes = size_t(random() % 200000 + 1);
        Block* block = cpu.allocate(int64_t(bytes));
        std::memset(block->data, id, bytes);
        std::this_thread::yield();
        const char* p = static_cast<const char*>(block->data);
        EXPECT_TRUE(p[0] == id && p[bytes / 2] == id && p[bytes - 1] == id);
        cpu.free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cpu.stats().in_use, 0);
}

TEST(PageSource, HugePagesAreAlignedZeroAndReturned) {
  const auto pages = huge_page_source();
  auto* base = static_cast<char*>(pages->map(2 * kHugePage));
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % uintptr_t(kHugePage), 0u);
  EXPECT_EQ(base[0], 0);
  EXPECT_EQ(base[2 * kHugePage - 1], 0);
  base[2 * kHugePage - 1] = 1;
  pages->unmap(base, 2 * kHugePage);
  EXPECT_TRUE(pages->is_backed());
  EXPECT_FALSE(virtual_page_source()->is_backed());
  EXPECT_ERROR(page_source_of(Device{DeviceType::cuda, 0}), "cuda:0", "no CUDA");
}

TEST(PageSource, MoreThanTheMachineHasIsRefusedWithTheNumbers) {
  EXPECT_ERROR(Tensor::empty({int64_t(1) << 46}), "out of memory", "asked for 281474976710656 bytes");
}

}  // namespace
}  // namespace tare
