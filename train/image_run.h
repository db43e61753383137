// SPDX-License-Identifier: Apache-2.0
// Training a model on labelled images: batches, loss, accuracy and evaluation. The run of a model adds how it
// is made, saved and loaded.
#pragma once

#include <memory>

#include "tare/data/image_loader.h"
#include "tare/nn/image_classifier.h"
#include "tare/train/run.h"

namespace tare::train {

class ImageRun : public Run {
 public:
  // The mean loss and the accuracy over `images` of those held out, spread evenly; 0 is all of them.
  Evaluation evaluate(int64_t images, const GoOn& go_on = {}) override;
  const data::ImageDataset& images() const { return *images_; }
  const TaskWords& words() const override;
  int64_t items_per_step() const override { return options_.batch; }

 protected:
  // Reads the images, or makes synthetic ones of the model's size where none are named, and finds the number
  // of steps where epochs are given. Error when options are wrong or images do not fit the model, which the
  // constructor of the derived class makes next and gives to start().
  ImageRun(const RunOptions& options, const data::ImageSize& size, int64_t classes);
  ~ImageRun() override;
  void start(nn::ImageClassifier& model);

 private:
  void next_batch() override;
  Forward forward() override;
  void seek(int64_t step) override;
  Json describe_data() const override;
  std::vector<const char*> fixed_fields() const override { return {"data_hash", "augment"}; }
  void make_paths_absolute(Json& run) const override;

  std::shared_ptr<const data::ImageDataset> images_;
  std::string hash_;
  data::Augmentation augmentation_;
  nn::ImageClassifier* classifier_ = nullptr;
  std::unique_ptr<data::ImageLoader> loader_;
  data::ImageBatch batch_;
};

}  // namespace tare::train
