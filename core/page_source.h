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
  virtual void* map(int64_t bytes) = 0;  // nullptr when there is no more; bytes is a multiple of 2 MiB
  virtual void unmap(void* base, int64_t bytes) = 0;
  virtual bool is_backed() const = 0;              // false: addresses must not be touched
  virtual bool is_cheap() const { return false; }  // to unmap and map again: no device waits for it
};

// mmap aligned to 2 MiB, with huge pages asked for.
std::unique_ptr<PageSource> huge_page_source();
// Distinct addresses without memory behind them.
std::unique_ptr<PageSource> virtual_page_source();
// The page source of a device; Error when this build or machine has no such device.
std::unique_ptr<PageSource> page_source_of(Device device);

}  // namespace tare
