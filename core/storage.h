// SPDX-License-Identifier: Apache-2.0
// A block of memory on a device, shared by the tensors that view it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "tare/core/allocator.h"
#include "tare/core/ledger.h"

namespace tare {

class Storage {
 public:
  // From the device's caching allocator, charged to the ledger. On meta, data() is null.
  static std::shared_ptr<Storage> allocate(int64_t bytes, Device device, Category category);
  // Memory that somebody else owns: not charged; `deleter` (may be empty) runs when the last tensor is gone.
  static std::shared_ptr<Storage> wrap(void* data, int64_t bytes, Device device,
                                       std::function<void()> deleter);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  Category category() const { return charge_.category; }
  // Moves the charge; parameters and data keep their category for good.
  void set_category(Category category);
  bool is_charged() const { return block_ != nullptr; }

  // Counts writes: the tape compares it to find saved tensors that were changed in place.
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Storage() = default;

  void* data_ = nullptr;
  int64_t bytes_ = 0;
  Device device_;
  CachingAllocator::Block* block_ = nullptr;
  Ledger::Charge charge_;
  std::function<void()> deleter_;
  std::atomic<uint32_t> version_{0};
};

}  // namespace tare
