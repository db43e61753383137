// SPDX-License-Identifier: Apache-2.0
// Runs the tests with one random schedule of the device's threads; with TARE_TEST_ALL with others as well,
// among them program order. SIMT_ORDER or SIMT_SEED ask for a single one.
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/simt/simt.h"
#include "tests/support/test_data.h"

namespace {

struct Schedule {
  const char* name;
  simt::Order order;
  uint64_t seed;
};
constexpr Schedule kSchedules[] = {{"random, seed 1", simt::Order::random, 1},
                                   {"random, seed 2", simt::Order::random, 2},
                                   {"random, seed 3", simt::Order::random, 3},
                                   {"program order", simt::Order::forward, 1}};

// One iteration of GoogleTest's repetitions for each schedule.
class Schedules : public testing::EmptyTestEventListener {
  void OnTestIterationStart(const testing::UnitTest&, int iteration) override {
    const Schedule& schedule = kSchedules[iteration];
    simt::options().order = schedule.order, simt::options().seed = schedule.seed;
    std::printf("schedule: %s\n", schedule.name);
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!std::getenv("SIMT_ORDER") && !std::getenv("SIMT_SEED")) {
    testing::UnitTest::GetInstance()->listeners().Append(new Schedules);
    GTEST_FLAG_SET(repeat, tare::test::all_cases() ? int(std::size(kSchedules)) : 1);
  }
  return RUN_ALL_TESTS();
}
