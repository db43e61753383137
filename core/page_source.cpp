// SPDX-License-Identifier: Apache-2.0
#include "tare/core/page_source.h"

#include <cstdint>

#include <sys/mman.h>

#include "tare/core/cuda/memory.h"
#include "tare/core/error.h"

namespace tare {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kStep = 64 << 10;  // the largest page size of the machines that Linux runs on

class HugePageSource final : public PageSource {
 public:
  void* map(int64_t bytes) override {
    // Map one huge page more than asked for, and give back what lies before the aligned part and after it.
    const size_t padded = size_t(bytes + kHugePage);
    void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
    const uintptr_t aligned = (begin + kHugePage - 1) & ~uintptr_t(kHugePage - 1);
    if (aligned > begin) munmap(raw, aligned - begin);
    const uintptr_t end = begin + padded, aligned_end = aligned + uintptr_t(bytes);
    if (end > aligned_end) munmap(reinterpret_cast<void*>(aligned_end), end - aligned_end);
    void* base = reinterpret_cast<void*>(aligned);
    madvise(base, size_t(bytes), MADV_HUGEPAGE);  // advice: without huge pages it works as well, only slower
    return base;
  }
  void unmap(void* base, int64_t bytes) override { munmap(base, size_t(bytes)); }
  bool is_backed() const override { return true; }
  bool is_cheap() const override { return true; }
  int64_t granularity() const override { return kStep; }
};

class VirtualPageSource final : public PageSource {
 public:
  void* map(int64_t bytes) override {
    void* base = reinterpret_cast<void*>(next_);
    next_ += uintptr_t(bytes);
    return base;
  }
  void unmap(void*, int64_t) override {}
  bool is_backed() const override { return false; }
  bool is_cheap() const override { return true; }
  int64_t granularity() const override { return kStep; }

 private:
  uintptr_t next_ = uintptr_t(1) << 56;  // above every user address of x86-64 and AArch64
};

}  // namespace

std::unique_ptr<PageSource> huge_page_source() { return std::make_unique<HugePageSource>(); }
std::unique_ptr<PageSource> virtual_page_source() { return std::make_unique<VirtualPageSource>(); }

std::unique_ptr<PageSource> page_source_of(Device device) {
  switch (device.type) {
    case DeviceType::cpu:
      return huge_page_source();
    case DeviceType::meta:
      return virtual_page_source();
    case DeviceType::cuda:
      return cuda::page_source(device.index);
  }
  TARE_UNREACHABLE();
}

}  // namespace tare
