// SPDX-License-Identifier: Apache-2.0
#include "tare/core/ledger.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "tare/core/error.h"
#include "tare/core/hash.h"
#include "tare/core/scope.h"

namespace tare {
namespace {

thread_local Category category_in_scope = Category::temporaries;

}  // namespace

std::string_view name_of(Category category) {
  switch (category) {
    case Category::parameters:
      return "parameters";
    case Category::compute_copies:
      return "compute_copies";
    case Category::master_weights:
      return "master_weights";
    case Category::gradients:
      return "gradients";
    case Category::optimizer_state:
      return "optimizer_state";
    case Category::activations:
      return "activations";
    case Category::temporaries:
      return "temporaries";
    case Category::workspace:
      return "workspace";
    case Category::communication:
      return "communication";
    case Category::data:
      return "data";
  }
  TARE_UNREACHABLE();
}

size_t Ledger::LabelHash::operator()(const LabelKey& key) const {
  return size_t(key.path_hash * 0x9e3779b97f4a7c15ull ^ reinterpret_cast<uintptr_t>(key.op) ^
                size_t(key.category));
}

uint32_t Ledger::intern(const std::string& path, uint64_t path_hash, const char* op, Category category) {
  const auto [it, inserted] = label_index_.try_emplace({path_hash, op, category}, uint32_t(labels_.size()));
  if (inserted) {
    labels_.push_back({path, op, category});
    alive_.push_back(0);
  }
  return it->second;
}

void Ledger::add(uint32_t label, Category category, int64_t bytes) {
  alive_[label] += bytes;
  total_ += bytes;
  auto& own = current_[size_t(category)];
  own += bytes;
  own_peak_[size_t(category)] = std::max(own_peak_[size_t(category)], own);
  if (total_ > peak_total_) {
    peak_total_ = total_;
    at_peak_ = current_;
    at_peak_now_ = true;
  }
}

// The list of what is alive is copied only when the total is about to leave a new peak.
void Ledger::snapshot_if_at_peak() {
  if (!at_peak_now_) return;
  alive_at_peak_ = alive_;
  at_peak_now_ = false;
}

void Ledger::subtract(uint32_t label, Category category, int64_t bytes) {
  alive_[label] -= bytes;
  total_ -= bytes;
  current_[size_t(category)] -= bytes;
}

Ledger::Charge Ledger::charge(int64_t bytes, Category category) {
  std::lock_guard lock(mutex_);
  const uint32_t label = intern(current_path(), current_path_hash(), current_op(), category);
  add(label, category, bytes);
  return {bytes, category, label};
}

void Ledger::release(const Charge& charge) {
  std::lock_guard lock(mutex_);
  if (charge.bytes > 0) snapshot_if_at_peak();
  subtract(charge.label, charge.category, charge.bytes);
}

void Ledger::move(Charge& charge, Category to) {
  std::lock_guard lock(mutex_);
  if (charge.category == to) return;
  const Label from = labels_[charge.label];
  const uint32_t label = intern(from.path, fnv1a(kFnvBasis, from.path), from.op, to);
  const bool was_at_peak = at_peak_now_;
  alive_[charge.label] -= charge.bytes;
  alive_[label] += charge.bytes;
  current_[size_t(charge.category)] -= charge.bytes;
  auto& own = current_[size_t(to)];
  own += charge.bytes;
  own_peak_[size_t(to)] = std::max(own_peak_[size_t(to)], own);
  if (was_at_peak) at_peak_ = current_;  // the total did not change: the peak is still now
  std::atomic_ref(charge.category).store(to, std::memory_order_relaxed);
  charge.label = label;
}

CategoryBytes Ledger::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

int64_t Ledger::total() const {
  std::lock_guard lock(mutex_);
  return total_;
}

int64_t Ledger::peak_total() const {
  std::lock_guard lock(mutex_);
  return peak_total_;
}

void Ledger::reset_peaks() {
  std::lock_guard lock(mutex_);
  peak_total_ = total_;
  at_peak_ = own_peak_ = current_;
  at_peak_now_ = true;
}

LedgerReport Ledger::report() const {
  std::lock_guard lock(mutex_);
  LedgerReport r;
  r.total = total_;
  r.peak_total = peak_total_;
  r.current = current_;
  r.at_peak = at_peak_;
  r.own_peak = own_peak_;
  const std::vector<int64_t>& alive = at_peak_now_ ? alive_ : alive_at_peak_;
  // Op names are compared as text here: one literal may stand at two addresses.
  std::map<std::pair<std::string, std::pair<std::string, Category>>, int64_t> merged;
  for (size_t i = 0; i < alive.size(); ++i)
    if (alive[i] != 0) merged[{labels_[i].path, {labels_[i].op, labels_[i].category}}] += alive[i];
  for (const auto& [key, bytes] : merged)
    r.alive_at_peak.push_back({key.first, key.second.first, key.second.second, bytes});
  std::stable_sort(r.alive_at_peak.begin(), r.alive_at_peak.end(),
                   [](const AliveBytes& a, const AliveBytes& b) { return a.bytes > b.bytes; });
  return r;
}

Ledger& ledger(Device device) {
  // Leaked on purpose: storages with static lifetime release their charge after main.
  static Ledger* const cpu = new Ledger;
  static Ledger* const meta = new Ledger;
  static std::mutex mutex;
  static auto* const cuda = new std::map<int, Ledger>;
  switch (device.type) {
    case DeviceType::cpu:
      return *cpu;
    case DeviceType::meta:
      return *meta;
    case DeviceType::cuda: {
      std::lock_guard lock(mutex);
      return (*cuda)[device.index];
    }
  }
  TARE_UNREACHABLE();
}

CategoryScope::CategoryScope(Category category) : old_(std::exchange(category_in_scope, category)) {}
CategoryScope::~CategoryScope() { category_in_scope = old_; }
Category current_category() { return category_in_scope; }

}  // namespace tare
