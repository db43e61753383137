// SPDX-License-Identifier: Apache-2.0
#include "tare/data/text_loader.h"

#include <algorithm>
#include <utility>

#include "tare/core/error.h"

namespace tare::data {
namespace {

TextBatch make_batch(int64_t batch, int64_t seq) {
  const TensorOptions options{DType::i64, kCpu, Category::data};
  return {Tensor::zeros({batch, seq}, options), Tensor::zeros({batch, seq}, options), 0, 0};
}

}  // namespace

std::vector<TextBatch> TextLoader::make_pool(int64_t batch, int64_t seq) {
  TARE_CHECK(batch >= 1, "a batch of ", batch, " sequences; expected at least 1");
  std::vector<TextBatch> pool;
  for (size_t i = 0; i < kBuffers; ++i) pool.push_back(make_batch(batch, seq));
  return pool;
}

TextLoader::TextLoader(TextDataset dataset, int64_t batch, int64_t seq, uint64_t seed, int64_t drawn)
    : dataset_(std::move(dataset)),
      sampler_(dataset_.train(), seq, seed),
      batch_(batch),
      seq_(seq),
      drawn_(drawn),
      prefetcher_(make_pool(batch, seq), [this, drawn](int64_t number, TextBatch& buffer) {
        buffer.first_window = drawn + number * batch_;
        fill(buffer);
      }) {
  TARE_CHECK(drawn >= 0, "a loader that begins after ", drawn, " windows");
}

void TextLoader::fill(TextBatch& batch) const {
  std::vector<uint8_t> bytes(size_t(seq_ + 1));
  int64_t* ids = batch.ids.mutable_data<int64_t>();
  int64_t* targets = batch.targets.mutable_data<int64_t>();
  for (int64_t b = 0; b < batch_; ++b) {
    dataset_.read(sampler_.start(batch.first_window + b), seq_ + 1, bytes.data());
    std::copy_n(bytes.begin(), seq_, ids + b * seq_);
    std::copy_n(bytes.begin() + 1, seq_, targets + b * seq_);
  }
  batch.tokens = batch_ * seq_;
}

TextBatch TextLoader::next() {
  const std::shared_ptr<TextBatch> buffer = prefetcher_.next();
  drawn_ += batch_;
  // Tensors of their own over the buffer's memory: each holds the buffer until its last view is gone.
  const auto lent = [&](Tensor& t) {
    return Tensor::from_blob(t.mutable_raw(), t.shape(), t.dtype(), [buffer] {});
  };
  return {lent(buffer->ids), lent(buffer->targets), buffer->tokens, buffer->first_window};
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
