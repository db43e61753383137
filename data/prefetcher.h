// SPDX-License-Identifier: Apache-2.0
// Fills the buffers of a fixed pool in a thread, ahead of their use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tare/core/error.h"

namespace tare::data {

// fill(number, buffer) runs in a thread of its own for number = first, first + 1, ...; next() hands the
// buffers out in that order. A buffer is used again when the pointer that next() gave, and its copies, are
// gone, which may be later than the Prefetcher's own end. One thread may call next().
template <class Buffer> class Prefetcher {
 public:
  using Fill = std::function<void(int64_t number, Buffer& buffer)>;

  Prefetcher(std::vector<Buffer> pool, Fill fill, int64_t first = 0)
      : pool_(std::make_shared<Pool>(std::move(pool))), fill_(std::move(fill)), number_(first) {
    for (Buffer& buffer : pool_->buffers) pool_->free.push_back(&buffer);
    thread_ = std::thread([this] { produce(); });
  }

  ~Prefetcher() {
    {
      std::lock_guard lock(pool_->mutex);
      pool_->stopping = true;
    }
    pool_->changed.notify_all();
    thread_.join();
  }

  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Rethrows what fill() threw, after the buffers that were filled before it, then each time. Error when
  // every buffer is in the caller's hands, since none would ever come.
  std::shared_ptr<Buffer> next() {
    std::unique_lock lock(pool_->mutex);
    pool_->changed.wait(
        lock, [&] { return !ready_.empty() || error_ || pool_->handed_out == pool_->buffers.size(); });
    if (ready_.empty() && error_) std::rethrow_exception(error_);
    TARE_CHECK(!ready_.empty(), "all ", pool_->buffers.size(),
               " buffers of the loader are in use; let go of earlier batches before asking for the next");
    Buffer* buffer = ready_.front();
    ready_.pop_front();
    ++pool_->handed_out;
    return std::shared_ptr<Buffer>(buffer, [pool = pool_](Buffer* returned) {
      {
        std::lock_guard lock(pool->mutex);
        pool->free.push_back(returned);
        --pool->handed_out;
      }
      pool->changed.notify_all();
    });
  }

 private:
  struct Pool {
    explicit Pool(std::vector<Buffer> all) : buffers(std::move(all)) {}
    std::vector<Buffer> buffers;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Buffer*> free;
    size_t handed_out = 0;
    bool stopping = false;
  };

  void produce() {
    for (;; ++number_) {
      std::unique_lock lock(pool_->mutex);
      pool_->changed.wait(lock, [&] { return pool_->stopping || !pool_->free.empty(); });
      if (pool_->stopping) return;
      Buffer* buffer = pool_->free.front();
      pool_->free.pop_front();
      lock.unlock();
      std::exception_ptr error;
      try {
        fill_(number_, *buffer);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error)
        error_ = error;
      else
        ready_.push_back(buffer);
      lock.unlock();
      pool_->changed.notify_all();
      if (error) return;
    }
  }

  std::shared_ptr<Pool> pool_;
  Fill fill_;
  int64_t number_;             // of the buffer being filled; the thread's own
  std::deque<Buffer*> ready_;  // under the pool's mutex, as error_
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace tare::data
