// SPDX-License-Identifier: Apache-2.0
// Batches of a text, made ahead by a thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "tare/data/text_dataset.h"

namespace tare::data {

struct TextBatch {
  Tensor ids;                // (B, T) i64
  Tensor targets;            // (B, T) i64: the next token of each; -100 where there is none
  int64_t tokens = 0;        // targets that count
  int64_t first_window = 0;  // number of windows drawn before this batch
};

// Endless training batches in the order of WindowSampler, made by a thread a few ahead in buffers of a fixed
// pool (category data). One thread may call next().
class TextLoader {
 public:
  // Begins after `drawn` windows, so that a resumed run goes on where it stopped.
  TextLoader(const TextDataset& dataset, int64_t batch, int64_t seq, uint64_t seed, int64_t drawn = 0);
  ~TextLoader();
  TextLoader(const TextLoader&) = delete;
  TextLoader& operator=(const TextLoader&) = delete;

  // Its tensors stay as they are until the next call. What failed in the thread is thrown here.
  const TextBatch& next();
  int64_t drawn() const { return drawn_; }  // windows handed out
  int64_t windows_per_epoch() const { return sampler_.windows_per_epoch(); }

 private:
  static constexpr size_t kBuffers = 3;  // one in the caller's hands, two ahead
  void produce();
  void fill(TextBatch& batch, std::vector<uint8_t>& bytes) const;

  const TextDataset& dataset_;
  WindowSampler sampler_;
  int64_t batch_, seq_, drawn_;
  TextBatch buffers_[kBuffers];
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<TextBatch*> free_, ready_;
  TextBatch* in_hand_ = nullptr;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

// Batch of the evaluation windows numbered chosen[0], chosen[1], ...; short windows are padded with id 0,
// target -100.
TextBatch evaluation_batch(const TextDataset& dataset, const EvaluationWindows& windows,
                           const std::vector<int64_t>& chosen);

}  // namespace tare::data
