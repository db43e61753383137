// SPDX-License-Identifier: Apache-2.0
#include "tare/core/allocator.h"

#include <algorithm>
#include <map>

#include "tare/core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TARE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TARE_ASAN 1
#endif
#endif
#ifdef TARE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tare {

struct CachingAllocator::Segment {
  void* base;
  int64_t size;
  bool small;
};

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kSmallSegment = 2 << 20;
constexpr int64_t kSmallLimit = 1 << 20;   // requests below share segments
constexpr int64_t kSplitLimit = 64 << 10;  // a rest below stays with its large block
// Idle bytes that are kept when the cache has nothing that fits: this, or a 16th of what is in use.
constexpr int64_t kIdleLimit = 128 << 20;

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// A caching allocator hides overflows from AddressSanitizer: free blocks and a red zone behind each block in
// use are poisoned by hand.
#ifdef TARE_ASAN
constexpr int64_t kRedZone = kAlignment;
void poison(const void* p, int64_t bytes) { ASAN_POISON_MEMORY_REGION(p, size_t(bytes)); }
void unpoison(const void* p, int64_t bytes) { ASAN_UNPOISON_MEMORY_REGION(p, size_t(bytes)); }
#else
constexpr int64_t kRedZone = 0;
void poison(const void*, int64_t) {}
void unpoison(const void*, int64_t) {}
#endif

}  // namespace

CachingAllocator::CachingAllocator(std::unique_ptr<PageSource> pages, Device device)
    : pages_(std::move(pages)), device_(device) {}

CachingAllocator::~CachingAllocator() { release_cache(); }

CachingAllocator::FreeList& CachingAllocator::free_list(const Block* block) {
  return block->segment->small ? small_ : large_;
}

CachingAllocator::Block* CachingAllocator::take(FreeList& free_blocks, int64_t bytes, bool whole) {
  Block key;
  key.size = bytes;
  key.order = -1;
  const auto it = free_blocks.lower_bound(&key);
  if (it == free_blocks.end()) return nullptr;
  Block* block = *it;
  if (whole && block->size - bytes >= kSplitLimit) return nullptr;
  free_blocks.erase(it);
  return block;
}

CachingAllocator::Block* CachingAllocator::grow(int64_t bytes, bool small) {
  const int64_t size = small ? kSmallSegment : round_up(bytes, pages_->granularity());
  if (size > limit_ - stats_.held) return nullptr;
  void* base = pages_->map(size);
  if (!base) return nullptr;
  if (pages_->is_backed()) poison(base, size);
  stats_.held += size;
  stats_.peak_held = std::max(stats_.peak_held, stats_.held);
  ++stats_.segments;
  return new Block{base, size, next_order_++, new Segment{base, size, small}, nullptr, nullptr, false};
}

bool CachingAllocator::idle_is_large() const {
  return stats_.held - stats_.in_use > std::max(kIdleLimit, stats_.in_use / 16);
}

void CachingAllocator::split(Block* block, int64_t bytes, bool small) {
  const int64_t rest = block->size - bytes;
  if (rest < (small ? kAlignment : kSplitLimit)) return;
  auto* tail = new Block{static_cast<char*>(block->data) + bytes,
                         rest,
                         next_order_++,
                         block->segment,
                         block,
                         block->next,
                         false};
  if (tail->next) tail->next->previous = tail;
  block->next = tail;
  block->size = bytes;
  free_list(tail).insert(tail);
}

CachingAllocator::Block* CachingAllocator::allocate(int64_t bytes, Lifetime lifetime) {
  TARE_CHECK(bytes >= 0 && bytes < (int64_t(1) << 60), "allocate: ", bytes, " bytes");
  const int64_t size = round_up(std::max<int64_t>(bytes, 1) + kRedZone, kAlignment);
  const bool small = size < kSmallLimit;
  FreeList& free_blocks = small ? small_ : large_;
  std::lock_guard lock(mutex_);
  Block* block = take(free_blocks, size, !small && lifetime == Lifetime::lasting);
  if (!block && pages_->is_cheap() && idle_is_large()) {
    release_free_segments(small_);
    release_free_segments(large_);
  }
  if (!block) block = grow(size, small);
  if (!block) {
    release_free_segments(small_);
    release_free_segments(large_);
    block = grow(size, small);
  }
  if (!block) block = take(free_blocks, size, false);
  if (!block)
    throw OutOfMemory(detail::concat(
        device_, ": out of memory: asked for ", bytes, " bytes, ", stats_.in_use, " in use, ", stats_.held,
        " held, limit ", limit_ == std::numeric_limits<int64_t>::max() ? "none" : std::to_string(limit_)));
  split(block, size, small);
  block->in_use = true;
  stats_.in_use += block->size;
  if (pages_->is_backed()) unpoison(block->data, bytes);
  return block;
}

void CachingAllocator::free(Block* block) {
  std::lock_guard lock(mutex_);
  TARE_ASSERT(block->in_use);
  block->in_use = false;
  stats_.in_use -= block->size;
  if (pages_->is_backed()) poison(block->data, block->size);
  const auto absorb = [](Block* left, Block* right) {  // both free, neither listed
    left->size += right->size;
    left->next = right->next;
    if (right->next) right->next->previous = left;
    delete right;
  };
  if (Block* right = block->next; right && !right->in_use) {
    free_list(right).erase(right);
    absorb(block, right);
  }
  if (Block* left = block->previous; left && !left->in_use) {
    free_list(left).erase(left);
    absorb(left, block);
    block = left;
  }
  free_list(block).insert(block);
}

void CachingAllocator::release_free_segments(FreeList& free_blocks) {
  for (auto it = free_blocks.begin(); it != free_blocks.end();) {
    Block* block = *it;
    if (block->previous || block->next) {
      ++it;
      continue;
    }
    it = free_blocks.erase(it);
    if (pages_->is_backed()) unpoison(block->segment->base, block->segment->size);
    pages_->unmap(block->segment->base, block->segment->size);
    stats_.held -= block->segment->size;
    --stats_.segments;
    delete block->segment;
    delete block;
  }
}

void CachingAllocator::release_cache() {
  std::lock_guard lock(mutex_);
  release_free_segments(small_);
  release_free_segments(large_);
}

void CachingAllocator::set_limit(int64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes > 0 ? bytes : std::numeric_limits<int64_t>::max();
}

AllocatorStats CachingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peaks() {
  std::lock_guard lock(mutex_);
  stats_.peak_held = stats_.held;
}

CachingAllocator& allocator(Device device) {
  // Leaked on purpose: storages with static lifetime free their blocks after main.
  static std::mutex mutex;
  static auto* const all = new std::map<std::pair<DeviceType, int>, std::unique_ptr<CachingAllocator>>;
  std::lock_guard lock(mutex);
  auto& slot = (*all)[{device.type, device.index}];
  if (!slot) slot = std::make_unique<CachingAllocator>(page_source_of(device), device);
  return *slot;
}

}  // namespace tare
