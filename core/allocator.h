// SPDX-License-Identifier: Apache-2.0
// A caching allocator over a page source. Its decisions depend on sizes and order alone, never on addresses,
// so that a run on the meta device holds the same bytes as the real one.
#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <set>

#include "tare/core/page_source.h"

namespace tare {

struct AllocatorStats {
  int64_t in_use = 0;     // bytes of blocks handed out, rounded to the block size
  int64_t held = 0;       // bytes mapped from the page source
  int64_t peak_held = 0;  // since reset_peaks()
  int64_t segments = 0;
};

enum class Lifetime : uint8_t { passing, lasting };  // lasting: parameters and states, until the run ends

// Blocks are 64-byte aligned. Requests below 1 MiB share segments of 2 MiB; larger ones get segments of their
// own size. Free blocks are reused best fit, split and merged; what lasts takes no part of a large one, whose
// rest would stay too small for anything else. When none fits and much is idle (over 128 MiB and a 16th of
// what is in use), wholly free segments go back before a new one comes, where that is cheap: what the forward
// pass left behind does not add to the peak of the backward pass. Thread-safe.
class CachingAllocator {
 public:
  struct Segment;
  struct Block {
    void* data = nullptr;
    int64_t size = 0;   // of the block, at least what was asked for
    int64_t order = 0;  // position in time, the tie-breaker of best fit
    Segment* segment = nullptr;
    Block* previous = nullptr;  // neighbours in the segment
    Block* next = nullptr;
    bool in_use = false;
  };

  explicit CachingAllocator(std::unique_ptr<PageSource> pages, Device device);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // When the page source is exhausted or the limit is reached, the cache is freed and the request retried
  // once, then any free block is taken; then OutOfMemory tells bytes asked for, in use, held and the limit.
  Block* allocate(int64_t bytes, Lifetime lifetime = Lifetime::passing);
  void free(Block* block);

  void release_cache();  // gives wholly free segments back
  // Upper bound of bytes held; 0 or less removes it. What is held already is not affected.
  void set_limit(int64_t bytes);
  AllocatorStats stats() const;
  void reset_peaks();

 private:
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->order < b->order;
    }
  };
  using FreeList = std::set<Block*, BySize>;

  Block* take(FreeList& free_blocks, int64_t bytes, bool whole);
  Block* grow(int64_t bytes, bool small);
  bool idle_is_large() const;
  void split(Block* block, int64_t bytes, bool small);
  void release_free_segments(FreeList& free_blocks);
  FreeList& free_list(const Block* block);

  mutable std::mutex mutex_;
  std::unique_ptr<PageSource> pages_;
  Device device_;
  FreeList small_, large_;
  int64_t limit_ = std::numeric_limits<int64_t>::max();
  int64_t next_order_ = 0;
  AllocatorStats stats_;
};

// The allocator of a device; made at first use, lives as long as the process.
CachingAllocator& allocator(Device device);

}  // namespace tare
