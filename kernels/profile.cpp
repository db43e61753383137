// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/profile.h"

#include <algorithm>
#include <atomic>

#include "tare/core/error.h"
#include "tare/core/scope.h"

namespace tare::kernels {
namespace {

using Clock = std::chrono::steady_clock;
std::atomic<Profiler*> active{nullptr};

double seconds_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Profiler::~Profiler() { stop(); }

void Profiler::start(bool keep_events) {
  Profiler* none = nullptr;
  keep_events_ = keep_events;
  origin_ = Clock::now();
  TARE_CHECK(active.compare_exchange_strong(none, this), "Profiler::start: another profiler is active");
}

void Profiler::stop() {
  Profiler* self = this;
  active.compare_exchange_strong(self, nullptr);
}

void Profiler::add(const char* name, Clock::time_point begin, double seconds, Cost cost) {
  std::lock_guard lock(mutex_);
  KernelStats& s = stats_[name];
  s.name = name;
  ++s.calls;
  s.seconds += seconds;
  s.cost.flops += cost.flops;
  s.cost.bytes += cost.bytes;
  if (keep_events_) events_.push_back({name, current_path(), seconds_between(origin_, begin), seconds, cost});
}

std::vector<KernelStats> Profiler::stats() const {
  std::lock_guard lock(mutex_);
  std::vector<KernelStats> list;
  for (const auto& [name, s] : stats_) list.push_back(s);
  std::stable_sort(list.begin(), list.end(), [](const KernelStats& a, const KernelStats& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.cost.flops > b.cost.flops;
  });
  return list;
}

std::vector<KernelEvent> Profiler::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

Cost Profiler::total() const {
  std::lock_guard lock(mutex_);
  Cost sum;
  for (const auto& [name, s] : stats_) {
    sum.flops += s.cost.flops;
    sum.bytes += s.cost.bytes;
  }
  return sum;
}

KernelScope::KernelScope(const char* name, Device device, Cost cost)
    : name_(name), timed_(!device.is_meta()), cost_(cost) {
  if (active.load(std::memory_order_acquire)) begin_ = Clock::now();
}

KernelScope::~KernelScope() {
  Profiler* profiler = active.load(std::memory_order_acquire);
  if (!profiler || begin_ == Clock::time_point{}) return;
  profiler->add(name_, begin_, timed_ ? seconds_between(begin_, Clock::now()) : 0, cost_);
}

}  // namespace tare::kernels
