// SPDX-License-Identifier: Apache-2.0
// parallel_for: every item once, in ranges no shorter than the grain; exceptions; nesting.
#include "tare/core/parallel.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tare {
namespace {

TEST(ParallelFor, RangesCoverAllOnceAndKeepTheGrain) {
  for (const int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(num_threads(), threads);
    for (const int64_t n : {0, 1, 2, 7, 64, 1000, 1001})
      for (const int64_t grain : {0, 1, 3, 100, 5000}) {
        std::mutex mutex;
        std::vector<std::pair<int64_t, int64_t>> ranges;
        std::vector<int> seen(static_cast<size_t>(n));
        parallel_for(n, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[size_t(i)];
          std::lock_guard lock(mutex);
          ranges.emplace_back(begin, end);
        });
        EXPECT_EQ(seen, std::vector<int>(size_t(n), 1));
        EXPECT_LE(int(ranges.size()), threads);
        if (n == 0) {
          EXPECT_TRUE(ranges.empty());
        }
        for (const auto& [begin, end] : ranges)
          EXPECT_TRUE(end - begin >= std::min(grain, n)) << begin << " " << end;
      }
  }
}

TEST(ParallelFor, ReallyRunsInSeveralThreads) {
  set_num_threads(2);
  std::atomic<int> inside = 0;
  parallel_for(2, 1, [&](int64_t, int64_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();  // ends only when both are here
  });
  EXPECT_EQ(inside, 2);
}

TEST(ParallelFor, AnExceptionReachesTheCallerAndTheNextLoopWorks) {
  set_num_threads(4);
  for (int64_t bad = 0; bad < 100; bad += 9) {
    std::atomic<int64_t> done = 0;
    EXPECT_THROW(parallel_for(100, 1,
                              [&](int64_t begin, int64_t end) {
                                for (int64_t i = begin; i < end; ++i) {
                                  if (i == bad) throw std::out_of_range("bad");
                                  ++done;
                                }
                              }),
                 std::out_of_range);
    EXPECT_LT(done, 100);
    done = 0;
    parallel_for(100, 1, [&](int64_t begin, int64_t end) { done += end - begin; });
    EXPECT_EQ(done, 100);
  }
}

TEST(ParallelFor, ANestedLoopRunsInItsOwnThread) {
  set_num_threads(4);
  std::vector<std::atomic<int>> seen(400);
  parallel_for(4, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      int calls = 0;
      parallel_for(100, 1, [&](int64_t from, int64_t to) {
        ++calls;
        EXPECT_EQ(std::this_thread::get_id(), outer);
        for (int64_t j = from; j < to; ++j) ++seen[size_t(100 * i + j)];
      });
      EXPECT_EQ(calls, 1);
    }
  });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
}

TEST(ParallelFor, ThreadsOfTheUserMayEachRunALoop) {
  set_num_threads(2);
  std::vector<std::thread> threads;
  std::atomic<int64_t> sum = 0;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 3 * 20 * 1000);
}

TEST(ParallelFor, TheNumberHoldsForEveryThreadOfTheProgram) {
  const int before = num_threads();
  set_num_threads(before + 3);
  int seen = 0;
  int64_t ranges = 0;
  std::thread other([&] {
    seen = num_threads();
    std::mutex mutex;
    parallel_for(1000, 1, [&](int64_t, int64_t) {
      std::lock_guard lock(mutex);
      ++ranges;
    });
  });
  other.join();
  set_num_threads(before);
  EXPECT_EQ(seen, before + 3);
  EXPECT_EQ(ranges, before + 3);
}

TEST(ParallelFor, NoThreadsIsAnError) { EXPECT_ERROR(set_num_threads(0), "set_num_threads", "0"); }

}  // namespace
}  // namespace tare
