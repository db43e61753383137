// SPDX-License-Identifier: Apache-2.0
// Batches of images, made ahead by a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tare/data/augment.h"
#include "tare/data/image_dataset.h"
#include "tare/data/prefetcher.h"

namespace tare::data {

struct ImageBatch {
  Tensor images;      // (B, channels, height, width) f32: a byte v is v / 127.5 - 1
  Tensor labels;      // (B) i64
  int64_t epoch = 0;  // of training batches
};

// Which training images a step sees. Each epoch visits them in a random order of its own, in batches; what
// is left at its end and fills no batch is left out until another epoch. Everything follows from (seed,
// epoch, index), in constant time.
class ImageSampler {
 public:
  // Error when the images do not fill one batch.
  ImageSampler(Span train, int64_t batch, uint64_t seed);
  int64_t batches_per_epoch() const { return batches_; }
  int64_t epoch_of(int64_t step) const { return step / batches_; }
  int64_t image(int64_t step, int64_t b) const;  // image b of the batch of that step, counted from 0

 private:
  Span train_;
  int64_t batch_;
  uint64_t seed_;
  int64_t batches_ = 0;
};

struct ImageLoaderOptions {
  int64_t batch = 16;
  uint64_t seed = 0;
  Augmentation augmentation = {};
  int64_t first_step = 0;  // begins there, in constant time
};

// Endless training batches in the order of ImageSampler, made by a thread ahead of their use in buffers of a
// fixed pool (category data). One thread may call next().
class ImageLoader {
 public:
  static constexpr size_t kBuffers = 4;  // two are made ahead while the caller holds two

  ImageLoader(std::shared_ptr<const ImageDataset> dataset, const ImageLoaderOptions& options);

  // Its tensors stay as they are for as long as one of them, or a view, lives; then their buffer is used
  // again. What failed in the thread is thrown here. Error when all buffers are held by the caller.
  ImageBatch next();
  const ImageSampler& sampler() const { return sampler_; }

 private:
  void fill(int64_t step, ImageBatch& batch) const;

  std::shared_ptr<const ImageDataset> dataset_;
  ImageLoaderOptions options_;
  ImageSampler sampler_;
  Prefetcher<ImageBatch> prefetcher_;  // last: its thread uses the others
};

// The images of those numbers as they are.
ImageBatch image_batch(const ImageDataset& dataset, const std::vector<int64_t>& indices);

}  // namespace tare::data
