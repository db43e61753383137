// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/kernels.h"

#include <algorithm>
#include <chrono>
#include <regex>

#include <benchmark/benchmark.h>

#include "tare/bench/roof.h"
#include "tare/core/error.h"
#include "tare/kernels/profile.h"

namespace tare::bench {
namespace {

constexpr int kRepetitions = 7;
constexpr double kSecondsPerRepetition = 0.05;

// Gathers the repetitions of each benchmark; prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration) milliseconds.push_back(run.GetAdjustedRealTime());
  }
  std::vector<double> milliseconds;
};

kernels::Cost cost_of(const std::function<void()>& call) {
  kernels::Profiler profiler;
  profiler.start();
  call();
  profiler.stop();
  return profiler.total();
}

KernelRow run_case(const KernelCase& kernel, const KernelRoofs& roofs) {
  const std::function<void()> call = kernel.setup();
  const kernels::Cost cost = cost_of(call);
  CacheFlush flush;
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark(
      kernel.name.c_str(),
      [&](benchmark::State& state) {
        for (auto _ : state) {
          flush();
          const auto begin = std::chrono::steady_clock::now();
          call();
          state.SetIterationTime(
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
      })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(kSecondsPerRepetition)
      ->Repetitions(kRepetitions);
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);

  const auto [low, high] = std::minmax_element(collector.milliseconds.begin(), collector.milliseconds.end());
  KernelRow row;
  row.name = kernel.name;
  row.milliseconds = median(collector.milliseconds);
  row.scatter = (*high - *low) / row.milliseconds;
  row.flops = cost.flops;
  row.bytes = cost.bytes;
  row.gflops = cost.flops / row.milliseconds * 1e-6;
  row.gbps = cost.bytes / row.milliseconds * 1e-6;
  const double arithmetic = cost.flops / roofs.gflops * 1e-6, memory = cost.bytes / roofs.gbps * 1e-6;
  row.memory_bound = memory >= arithmetic;
  row.roof_milliseconds = std::max(memory, arithmetic);
  return row;
}

}  // namespace

KernelRoofs measure_kernel_roofs() {
  return {measure_streams(kAdamWStreams, 16 << 20).gbps, measure_fma_gflops()};
}

static std::vector<KernelCase> chosen_cases(const std::string& filter) {
  std::regex wanted;
  try {
    wanted = std::regex(filter);
  } catch (const std::regex_error& e) {
    TARE_THROW("--filter ", filter, ": not a regular expression: ", e.what());
  }
  std::vector<KernelCase> chosen;
  for (KernelCase& kernel : kernel_cases())
    if (filter.empty() || std::regex_search(kernel.name, wanted)) chosen.push_back(std::move(kernel));
  TARE_CHECK(!chosen.empty(), "--filter ", filter, ": no kernel has such a name");
  return chosen;
}

void check_kernel_filter(const std::string& filter) { chosen_cases(filter); }

std::vector<KernelRow> run_kernels(const std::string& filter, const KernelRoofs& roofs,
                                   const std::function<void(const KernelRow&)>& on_row) {
  std::vector<KernelRow> rows;
  for (const KernelCase& kernel : chosen_cases(filter)) {
    rows.push_back(run_case(kernel, roofs));
    on_row(rows.back());
  }
  return rows;
}

}  // namespace tare::bench
