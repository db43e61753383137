// SPDX-License-Identifier: Apache-2.0
// Batches of a text, made ahead by a thread.
#pragma once

#include <cstdint>
#include <vector>

#include "tare/data/prefetcher.h"
#include "tare/data/text_dataset.h"

namespace tare::data {

struct TextBatch {
  Tensor ids;                // (B, T) i64
  Tensor targets;            // (B, T) i64: the next token of each; -100 where there is none
  int64_t tokens = 0;        // targets that count
  int64_t first_window = 0;  // number of windows drawn before this batch
};

// Endless training batches in the order of WindowSampler, made by a thread ahead of their use in buffers of a
// fixed pool (category data). Where a loader stands is said by its seed and drawn(). One thread may call
// next().
class TextLoader {
 public:
  // Two buffers are made ahead while the caller holds two batches.
  static constexpr size_t kBuffers = 4;

  // Begins after `drawn` windows, in constant time, so that a resumed run goes on where it stopped.
  TextLoader(TextDataset dataset, int64_t batch, int64_t seq, uint64_t seed, int64_t drawn = 0);

  // Its tensors stay as they are for as long as one of them, or a view, lives; then their buffer is used
  // again. What failed in the thread is thrown here. Error when all buffers are held by the caller.
  TextBatch next();
  int64_t drawn() const { return drawn_; }  // windows handed out
  int64_t windows_per_epoch() const { return sampler_.windows_per_epoch(); }

 private:
  static std::vector<TextBatch> make_pool(int64_t batch, int64_t seq);
  void fill(TextBatch& batch) const;

  TextDataset dataset_;
  WindowSampler sampler_;
  int64_t batch_, seq_, drawn_;
  Prefetcher<TextBatch> prefetcher_;  // last: its thread uses the others
};

// Batch of the evaluation windows numbered chosen[0], chosen[1], ...; short windows are padded with id 0,
// target -100.
TextBatch evaluation_batch(const TextDataset& dataset, const EvaluationWindows& windows,
                           const std::vector<int64_t>& chosen);

}  // namespace tare::data
