// SPDX-License-Identifier: Apache-2.0
// The roofs of this machine, measured in this process: what memory and arithmetic units can do at best.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tare/bench/statistics.h"
#include "tare/core/tensor.h"

namespace tare::bench {

// A pattern of streams over arrays of floats: `reads` arrays are read, `updates` are read and written. The
// roof of a kernel is that of its own pattern: a copy moves fewer bytes per second than a read-modify-write.
struct StreamPattern {
  int reads = 0;    // 0 to 1
  int updates = 0;  // 1 to 3
  double bytes_per_element() const { return 4.0 * reads + 8.0 * updates; }
};
inline constexpr StreamPattern kAdamWStreams{1, 3};     // g; p, m, v: 28 bytes
inline constexpr StreamPattern kMomentumStreams{1, 2};  // g; p, buf: 20 bytes
inline constexpr StreamPattern kSgdStreams{1, 1};       // g; p: 12 bytes

// The pattern of an update that moves so many bytes per parameter: a gradient read, the rest updated.
StreamPattern pattern_of(double bytes_per_element);

struct Roof {
  double gbps = 0;     // median, 1e9 bytes per second
  double scatter = 0;  // (max - min) / median of the repeats
};

// Streams arrays of `elements` floats with the threads of parallel_for, `repeats` times after one warm-up.
// Caches are filled with other data before each repeat, as a training step does before an update.
Roof measure_streams(StreamPattern pattern, int64_t elements, int repeats = 7);
Roof measure_copy(int64_t elements, int repeats = 7);  // 8 bytes per element
Roof measure_read(int64_t elements, int repeats = 7);  // 4 bytes per element

// Peak f32 fused multiply-adds of the instruction set in use, all threads, in GFLOP/s (from registers alone).
double measure_fma_gflops();

// Fills the caches with something else when called, as a training step does between two calls of a kernel.
class CacheFlush {
 public:
  CacheFlush();
  void operator()();

 private:
  Tensor data_;
};

}  // namespace tare::bench
