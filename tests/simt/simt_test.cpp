// SPDX-License-Identifier: Apache-2.0
// The emulator's own tests: each planted bug is reported in every order and seed, correct kernels run in
// silence, and the runtime behaves as CUDA's does where the library relies on it.
#include "tests/simt/simt.h"

#include <algorithm>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/cuda/error.h"
#include "tare/core/error.h"

#include "tests/simt/check.h"
#include "tests/simt/device_array.h"
#include "tests/simt/planted_bugs.h"
#include "tests/simt/semantics.h"

namespace simt_test {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif

std::vector<simt::Options> all_orders() {
  std::vector<simt::Options> orders{{simt::Order::forward}, {simt::Order::reverse}};
  for (uint64_t seed = 1; seed <= 5; ++seed) orders.push_back({simt::Order::random, seed});
  return orders;
}

// Restores the options that the environment chose.
class SimtTest : public testing::Test {
 public:
  ~SimtTest() override { simt::options() = options_; }

 private:
  simt::Options options_ = simt::options();
};

std::string one_line(std::string text) {  // so that ".*" of a POSIX expression spans the report
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// ---- planted bugs
// ------------------------------------------------------------------------------------------------
class Planted : public SimtTest, public testing::WithParamInterface<PlantedBug> {
 protected:
  void launch(bool planted) {
    const DeviceArray<float> x(std::vector<float>(kCount, 1.0f));
    DeviceArray<float> y(kCount);
    DeviceArray<unsigned> table(std::vector<unsigned>(8, 0));
    GetParam().launch(planted, x.data(), y.data(), table.data());
  }

  void expect_thrown() {
    const testing::Matcher<std::string> report = testing::ContainsRegex(GetParam().message);
    for (const auto& options : all_orders()) {
      simt::options() = options;
      try {
        launch(true);
        ADD_FAILURE() << "not reported in order " << static_cast<int>(options.order) << ", seed "
                      << options.seed;
      } catch (const simt::Error& e) {
        EXPECT_TRUE(report.Matches(one_line(e.what())))
            << e.what() << "\n  does not match " << GetParam().message;
        EXPECT_EQ(std::string_view(e.what()).substr(0, 7), "kernel ") << e.what();
      }
    }
  }
};

TEST_P(Planted, BugIsReportedInEveryOrder) {
  switch (GetParam().finder) {
    case Finder::engine:
      return expect_thrown();
    case Finder::checker:
      if (!simt::check::kEnabled) GTEST_SKIP() << "the memory checker is not in this build";
      return expect_thrown();
    case Finder::checker_or_asan:
      if (simt::check::kEnabled) return expect_thrown();
      if (!kAsan) GTEST_SKIP() << "neither the memory checker nor AddressSanitizer is in this build";
      EXPECT_DEATH(launch(true), "AddressSanitizer");
      return;
    case Finder::ubsan:
#ifndef SIMT_UBSAN
      GTEST_SKIP() << "UBSan is not in this build";
#endif
      EXPECT_DEATH(launch(true), GetParam().message);
      return;
  }
}

TEST_P(Planted, CorrectKernelRunsInSilence) {
  for (const auto& options : all_orders()) {
    simt::options() = options;
    EXPECT_NO_THROW(launch(false));
  }
}

INSTANTIATE_TEST_SUITE_P(Simt, Planted, testing::ValuesIn(planted_bugs().begin(), planted_bugs().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(SimtTest, AFailedLaunchLeavesNoTrace) {
  const DeviceArray<float> x(std::vector<float>(kCount, 1.0f));
  DeviceArray<float> y(kCount);
  for (const PlantedBug& bug : planted_bugs()) {
    if (bug.finder != Finder::engine) continue;
    EXPECT_THROW(bug.launch(true, x.data(), y.data(), nullptr), simt::Error);
    EXPECT_NO_THROW(bug.launch(false, x.data(), y.data(), nullptr));
    EXPECT_EQ(y.host()[0], bug.name == std::string_view("MixedCollectives") ? 2 : 1) << bug.name;
  }
}

// ---- semantics
// ---------------------------------------------------------------------------------------------------
TEST_F(SimtTest, WarpCollectivesAndBarriersComputeWhatCudaDefines) {
  for (const auto& options : all_orders()) {
    simt::options() = options;
    DeviceArray<int> out(std::vector<int>(64, 0));
    run_collectives(out.data());
    const std::vector<int> lanes = out.host();
    const std::vector<int> expected = expected_collectives();
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(lanes[i], expected[i]) << "result " << i;
  }
}

TEST_F(SimtTest, EachThreadOfAGridHasItsOwnIndex) {
  DeviceArray<int> out(3 * 2 * 2 * 4 * 3 * 2);
  run_indices(out.data());
  const std::vector<int> counts = out.host();
  for (int i = 0; i < static_cast<int>(counts.size()); ++i) EXPECT_EQ(counts[size_t(i)], i);
}

TEST_F(SimtTest, AtomicsAddUpOverBlocks) {
  for (const auto& options : all_orders()) {
    simt::options() = options;
    DeviceArray<int> bins(std::vector<int>(16, 0));
    DeviceArray<float> sum(std::vector<float>(1, 0.0f));
    run_histogram(bins.data(), sum.data(), 1000);
    EXPECT_EQ(bins.host()[3], 63);
    EXPECT_EQ(bins.host()[15], 62);
    EXPECT_EQ(sum.host()[0], 500.0f);
  }
}

TEST_F(SimtTest, ASpinLockWorksInsideABlock) {
  DeviceArray<int> lock(std::vector<int>(2, 0));
  run_spin_lock(lock.data());
  EXPECT_EQ(lock.host()[1], 16);
}

TEST_F(SimtTest, DynamicSharedMemoryIsPoisonedAndAligned) {
  DeviceArray<int> out(2);
  run_dynamic_shared(out.data(), 1024);
  EXPECT_EQ(out.host()[0], 0) << "offset from 128-byte alignment";
  EXPECT_EQ(out.host()[1], 255);
}

TEST_F(SimtTest, KernelNamesDropNamespacesAndKeepTemplateArguments) {
  EXPECT_EQ(name_of_template_kernel(), "named_kernel<float, 128>");
}

// ---- launches
// ----------------------------------------------------------------------------------------------------
TEST_F(SimtTest, ImpossibleLaunchesAreRefusedByName) {
  for (const auto& [grid, block, smem] : std::vector<std::tuple<dim3, dim3, size_t>>{{0, 32, 0},
                                                                                     {1, 0, 0},
                                                                                     {1, 1025, 0},
                                                                                     {1, {1, 1, 65}, 0},
                                                                                     {{1, 65536}, 32, 0},
                                                                                     {1, 32, 164 << 10}}) {
    try {
      run_nothing(grid, block, smem);
      ADD_FAILURE() << "not refused";
    } catch (const tare::Error& e) {
      EXPECT_NE(std::string(e.what()).find("launch of nothing_kernel with grid ("), std::string::npos)
          << e.what();
      EXPECT_NE(std::string(e.what()).find("cudaErrorInvalidConfiguration"), std::string::npos) << e.what();
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "TARE_CUDA clears the error that it reports";
  }
}

TEST_F(SimtTest, AnExceptionThatLeavesAKernelIsReported) {
  try {
    run_throwing();
    ADD_FAILURE() << "not reported";
  } catch (const simt::Error& e) {
    EXPECT_NE(std::string(e.what()).find("thread (5,0,0): an exception left the kernel: five"),
              std::string::npos)
        << e.what();
  }
}

TEST_F(SimtTest, HostThreadsMayLaunchAtTheSameTime) {
  std::vector<std::thread> threads;
  std::vector<int> results(4, 0);
  for (int& result : results)
    threads.emplace_back([&result] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        DeviceArray<int> bins(std::vector<int>(16, 0));
        DeviceArray<float> sum(std::vector<float>(1, 0.0f));
        run_histogram(bins.data(), sum.data(), 160);
        result += bins.host()[5];
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(results, std::vector<int>(4, 200));
}

// ---- memory and streams of the runtime
// ---------------------------------------------------------------------------
TEST_F(SimtTest, HostCodeThatTouchesDeviceMemoryDies) {
  DeviceArray<float> x(std::vector<float>(4, 1.0f));
  EXPECT_DEATH(
      {
        const volatile float* p = x.data();
        [[maybe_unused]] const float v = *p;
      },
      "host code touched device memory|AddressSanitizer");
}

TEST_F(SimtTest, CopiesCheckDirectionAndBounds) {
  DeviceArray<float> x(4);
  std::vector<float> host(8);
  EXPECT_EQ(cudaMemcpy(x.data(), host.data(), 16, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(x.data(), host.data(), 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), x.data(), 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(SimtTest, MemoryIsLimitedAndGivenBack) {
  simt::options().device_bytes = 1 << 20;
  void *p = nullptr, *q = nullptr;
  ASSERT_EQ(cudaMalloc(&p, 700 << 10), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&q, 700 << 10), cudaErrorMemoryAllocation);
  EXPECT_EQ(q, nullptr);
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, (1 << 20) - (700 << 10));
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&q, 700 << 10), cudaSuccess);
  EXPECT_EQ(cudaFree(q), cudaSuccess);
}

int wrong_results_over_two_streams(bool wait) {
  int wrong = 0;
  for (int repeat = 0; repeat < 40; ++repeat) {
    cudaStream_t producer, consumer;
    cudaEvent_t event;
    TARE_CUDA(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    TARE_CUDA(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    TARE_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    DeviceArray<int> x(std::vector<int>(32, 0)), y(std::vector<int>(32, 0));
    run_fill(x.data(), 5, producer);
    TARE_CUDA(cudaEventRecord(event, producer));
    if (wait) TARE_CUDA(cudaStreamWaitEvent(consumer, event, 0));
    run_copy(x.data(), y.data(), consumer);
    TARE_CUDA(cudaStreamSynchronize(consumer));
    wrong += y.host()[7] != 5;
    TARE_CUDA(cudaDeviceSynchronize());
    TARE_CUDA(cudaStreamDestroy(producer));
    TARE_CUDA(cudaStreamDestroy(consumer));
    TARE_CUDA(cudaEventDestroy(event));
  }
  return wrong;
}

TEST_F(SimtTest, AMissingWaitBetweenStreamsGivesWrongNumbers) {
  simt::options().order = simt::Order::random;
  EXPECT_EQ(wrong_results_over_two_streams(true), 0);
  EXPECT_GT(wrong_results_over_two_streams(false), 0);
}

TEST_F(SimtTest, AFaultInQueuedWorkIsThrownAtTheNextCallThatWaits) {
  simt::options().order = simt::Order::random;
  cudaStream_t stream;
  TARE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  EXPECT_THROW(
      {
        run_throwing(stream);
        cudaStreamSynchronize(stream);
      },
      simt::Error);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace simt_test
