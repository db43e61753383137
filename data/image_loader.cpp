// SPDX-License-Identifier: Apache-2.0
#include "tare/data/image_loader.h"

#include <utility>

#include "tare/core/error.h"
#include "tare/core/hash.h"
#include "tare/core/rng.h"

namespace tare::data {
namespace {

ImageBatch make_batch(int64_t batch, const ImageSize& size) {
  TARE_CHECK(batch >= 1, "a batch of ", batch, " images; expected at least 1");
  return {Tensor::zeros({batch, size.channels, size.height, size.width}, {DType::f32, kCpu, Category::data}),
          Tensor::zeros({batch}, {DType::i64, kCpu, Category::data})};
}

std::vector<ImageBatch> make_pool(size_t buffers, int64_t batch, const ImageSize& size) {
  std::vector<ImageBatch> pool;
  for (size_t i = 0; i < buffers; ++i) pool.push_back(make_batch(batch, size));
  return pool;
}

// Bytes to [-1, 1].
void normalise(const std::vector<uint8_t>& pixels, float* out) {
  for (size_t i = 0; i < pixels.size(); ++i) out[i] = float(pixels[i]) / 127.5f - 1.0f;
}

}  // namespace

ImageSampler::ImageSampler(Span train, int64_t batch, uint64_t seed)
    : train_(train), batch_(batch), seed_(seed) {
  TARE_CHECK(batch >= 1, "a batch of ", batch, " images; expected at least 1");
  batches_ = train.size() / batch;
  TARE_CHECK(batches_ >= 1, "a batch of ", batch, " images, but there are ", train.size(), " to train on");
}

int64_t ImageSampler::image(int64_t step, int64_t b) const {
  constexpr uint64_t kStream = fnv1a(kFnvBasis, "data.images");  // apart from the seed's other numbers
  const uint64_t key = RngKey{RngKey{seed_, kStream}.mix(), uint64_t(epoch_of(step))}.mix();
  return train_.begin + permuted(step % batches_ * batch_ + b, train_.size(), key);
}

ImageLoader::ImageLoader(std::shared_ptr<const ImageDataset> dataset, const ImageLoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(options),
      sampler_(dataset_->train(), options.batch, options.seed),
      prefetcher_(
          make_pool(kBuffers, options.batch, dataset_->image_size()),
          [this](int64_t step, ImageBatch& buffer) { fill(step, buffer); }, options.first_step) {
  TARE_CHECK(options.first_step >= 0, "a loader that begins at step ", options.first_step);
}

void ImageLoader::fill(int64_t step, ImageBatch& batch) const {
  const ImageSize size = dataset_->image_size();
  const auto pixels = size_t(size.pixels());
  std::vector<uint8_t> image(pixels), moved(pixels);
  float* images = batch.images.mutable_data<float>();
  int64_t* labels = batch.labels.mutable_data<int64_t>();
  batch.epoch = sampler_.epoch_of(step);
  for (int64_t b = 0; b < options_.batch; ++b) {
    const int64_t index = sampler_.image(step, b);
    dataset_->read(index, image.data());
    const Move move = move_of(options_.augmentation, options_.seed, batch.epoch, index);
    const bool stays = move == Move{};
    if (!stays) move_image(image.data(), size, move, moved.data());
    normalise(stays ? image : moved, images + size_t(b) * pixels);
    labels[b] = dataset_->label(index);
  }
}

ImageBatch ImageLoader::next() {
  const std::shared_ptr<ImageBatch> buffer = prefetcher_.next();
  // Tensors of their own over the buffer's memory: each holds the buffer until its last view is gone.
  const auto lent = [&](Tensor& t) {
    return Tensor::from_blob(t.mutable_raw(), t.shape(), t.dtype(), [buffer] {});
  };
  return {lent(buffer->images), lent(buffer->labels), buffer->epoch};
}

ImageBatch image_batch(const ImageDataset& dataset, const std::vector<int64_t>& indices) {
  ImageBatch batch = make_batch(int64_t(indices.size()), dataset.image_size());
  const auto pixels = size_t(dataset.image_size().pixels());
  std::vector<uint8_t> image(pixels);
  float* images = batch.images.mutable_data<float>();
  int64_t* labels = batch.labels.mutable_data<int64_t>();
  for (size_t b = 0; b < indices.size(); ++b) {
    dataset.read(indices[b], image.data());
    normalise(image, images + b * pixels);
    labels[b] = dataset.label(indices[b]);
  }
  return batch;
}

}  // namespace tare::data
