// SPDX-License-Identifier: Apache-2.0
#include "tare/data/text_loader.h"

#include <algorithm>

#include "tare/core/error.h"

namespace tare::data {
namespace {

TextBatch make_batch(int64_t batch, int64_t seq) {
  const TensorOptions options{DType::i64, kCpu, Category::data};
  return {Tensor::zeros({batch, seq}, options), Tensor::zeros({batch, seq}, options), 0, 0};
}

}  // namespace

TextLoader::TextLoader(const TextDataset& dataset, int64_t batch, int64_t seq, uint64_t seed, int64_t drawn)
    : dataset_(dataset), sampler_(dataset.train(), seq, seed), batch_(batch), seq_(seq), drawn_(drawn) {
  TARE_CHECK(batch >= 1, "a batch of ", batch, " sequences; expected at least 1");
  TARE_CHECK(drawn >= 0, "a loader that begins after ", drawn, " windows");
  for (TextBatch& buffer : buffers_) {
    buffer = make_batch(batch, seq);
    free_.push_back(&buffer);
  }
  thread_ = std::thread([this] { produce(); });
}

TextLoader::~TextLoader() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TextLoader::fill(TextBatch& batch, std::vector<uint8_t>& bytes) const {
  int64_t* ids = batch.ids.mutable_data<int64_t>();
  int64_t* targets = batch.targets.mutable_data<int64_t>();
  for (int64_t b = 0; b < batch_; ++b) {
    dataset_.read(sampler_.start(batch.first_window + b), seq_ + 1, bytes.data());
    std::copy_n(bytes.begin(), seq_, ids + b * seq_);
    std::copy_n(bytes.begin() + 1, seq_, targets + b * seq_);
  }
  batch.tokens = batch_ * seq_;
}

void TextLoader::produce() {
  std::vector<uint8_t> bytes(size_t(seq_ + 1));
  int64_t made = drawn_;
  while (true) {
    TextBatch* buffer = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !free_.empty(); });
      if (stopping_) return;
      buffer = free_.front();
      free_.pop_front();
    }
    std::exception_ptr error;
    try {
      buffer->first_window = made;
      fill(*buffer, bytes);
    } catch (...) {
      error = std::current_exception();
    }
    made += batch_;
    {
      std::lock_guard lock(mutex_);
      if (error)
        error_ = error;
      else
        ready_.push_back(buffer);
    }
    changed_.notify_all();
    if (error) return;
  }
}

const TextBatch& TextLoader::next() {
  std::unique_lock lock(mutex_);
  if (in_hand_) free_.push_back(in_hand_);
  in_hand_ = nullptr;
  changed_.notify_all();
  changed_.wait(lock, [this] { return error_ || !ready_.empty(); });
  if (ready_.empty()) std::rethrow_exception(error_);
  in_hand_ = ready_.front();
  ready_.pop_front();
  drawn_ += batch_;
  return *in_hand_;
}

TextBatch evaluation_batch(const TextDataset& dataset, const EvaluationWindows& windows,
                           const std::vector<int64_t>& chosen) {
  const int64_t seq = windows.seq;
  TextBatch batch = make_batch(int64_t(chosen.size()), seq);
  int64_t* ids = batch.ids.mutable_data<int64_t>();
  int64_t* targets = batch.targets.mutable_data<int64_t>();
  std::fill_n(targets, batch.targets.numel(), int64_t(-100));
  std::vector<uint8_t> bytes(size_t(seq + 1));
  for (size_t b = 0; b < chosen.size(); ++b) {
    TARE_CHECK(chosen[b] >= 0 && chosen[b] < windows.count, "evaluation window ", chosen[b], " of ",
               windows.count);
    const int64_t begin = windows.span.begin + chosen[b] * seq;
    const int64_t n = std::min(seq, windows.span.end - begin - 1);
    dataset.read(begin, n + 1, bytes.data());
    std::copy_n(bytes.begin(), n, ids + int64_t(b) * seq);
    std::copy_n(bytes.begin() + 1, n, targets + int64_t(b) * seq);
    batch.tokens += n;
  }
  return batch;
}

}  // namespace tare::data
