// SPDX-License-Identifier: Apache-2.0
// Where an allocator gets its segments from: the operating system, the CUDA driver, or nowhere (meta).
#pragma once

#include <cstdint>
#include <memory>

#include "tare/core/device.h"

namespace tare {

class PageSource {
 public:
  virtual ~PageSource() = default;
  virtual void* map(int64_t bytes) = 0;  // nullptr when there is no more; bytes: a multiple of granularity()
  virtual void unmap(void* base, int64_t bytes) = 0;
  virtual bool is_backed() const = 0;              // false: addresses must not be touched
  virtual bool is_cheap() const { return false; }  // to unmap and map again: no device waits for it
  virtual int64_t granularity() const { return int64_t(2) << 20; }
};

// mmap aligned to 2 MiB, with huge pages asked for. In steps of 64 KiB: what lies behind the last whole huge
// page gets small ones.
std::unique_ptr<PageSource> huge_page_source();
// Distinct addresses without memory behind them, in the same steps.
std::unique_ptr<PageSource> virtual_page_source();
// The page source of a device; Error when this build or machine has no such device.
std::unique_ptr<PageSource> page_source_of(Device device);

}  // namespace tare
