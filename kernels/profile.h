// SPDX-License-Identifier: Apache-2.0
// Every kernel front states what its call costs; a Profiler, while one is active, adds up calls, time, flops,
// bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tare/core/device.h"

namespace tare::kernels {

// The work of one call: floating point operations (a fused multiply-add is two) and bytes moved to and from
// memory when every operand is read or written once.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

struct KernelStats {
  std::string name;
  int64_t calls = 0;
  double seconds = 0;  // 0 on the meta device
  Cost cost;
};

struct KernelEvent {
  std::string name;
  std::string path;  // module path
  double start = 0;  // seconds since start()
  double seconds = 0;
  Cost cost;
};

// Collects what kernels report between start() and stop(); at most one is active in a process. Thread-safe.
class Profiler {
 public:
  ~Profiler();
  void start(bool keep_events = false);
  void stop();
  std::vector<KernelStats> stats() const;  // longest first, then by flops
  std::vector<KernelEvent> events() const;
  Cost total() const;

 private:
  friend class KernelScope;
  void add(const char* name, std::chrono::steady_clock::time_point begin, double seconds, Cost cost);

  mutable std::mutex mutex_;
  bool keep_events_ = false;
  std::chrono::steady_clock::time_point origin_;
  std::map<std::string, KernelStats> stats_;
  std::vector<KernelEvent> events_;
};

// One kernel call, from construction to destruction. Also names a phase (forward, backward) when made by
// hand.
class KernelScope {
 public:
  KernelScope(const char* name, Device device, Cost cost);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  const char* name_;
  bool timed_;
  Cost cost_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tare::kernels
