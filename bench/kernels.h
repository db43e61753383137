// SPDX-License-Identifier: Apache-2.0
// Kernels at the shapes of gpt2, timed by Google Benchmark and held against the roofs of this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tare::bench {

// One kernel call at one shape. setup() makes the operands and returns the call; what the call costs is what
// the front states of itself.
struct KernelCase {
  std::string name;  // "layernorm_forward/1024x768"
  std::function<std::function<void()>()> setup;
};

// Every kernel, at the shapes of gpt2 with batch 4 and 256 positions.
std::vector<KernelCase> kernel_cases();

struct KernelRow {
  std::string name;
  double milliseconds = 0;  // median, caches filled with other data before each call
  double scatter = 0;       // (max - min) / median of the repetitions
  double gflops = 0;        // achieved
  double gbps = 0;          // achieved
  double flops = 0;         // of one call
  double bytes = 0;
  double roof_milliseconds = 0;  // the longer of flops at the arithmetic roof and bytes at the memory roof
  bool memory_bound = false;     // which of the two it was
  double percent_of_roof() const { return 100 * roof_milliseconds / milliseconds; }
};

struct KernelRoofs {
  double gbps = 0;    // read-modify-write streams
  double gflops = 0;  // f32 multiply-add
};
KernelRoofs measure_kernel_roofs();

// Error unless `filter` is a regular expression that a case's name contains.
void check_kernel_filter(const std::string& filter);

// Runs the cases whose names contain the regular expression `filter` ("" is all). `on_row` is told of each as
// it ends.
std::vector<KernelRow> run_kernels(const std::string& filter, const KernelRoofs& roofs,
                                   const std::function<void(const KernelRow&)>& on_row);

}  // namespace tare::bench
