// SPDX-License-Identifier: Apache-2.0
#include "tare/train/image_run.h"

#include "tare/core/utf8.h"

namespace tare::train {
namespace {

constexpr int64_t kEvaluationBatch = 16;  // images at once
constexpr const char* kSynthetic = "synthetic";

void check_image_options(const RunOptions& o) {
  TARE_CHECK(o.epochs >= 0, "epochs ", o.epochs, ": expected at least 1, or 0 for a number of steps");
  TARE_CHECK(o.batch >= 1, "batch ", o.batch, ": expected at least 1");
  TARE_CHECK(is_utf8(o.data), "data ", in_quotes(o.data),
             ": a path that is not UTF-8 cannot stand in a checkpoint; rename it");
}

void check_fit(const data::ImageDataset& images, const std::string& model, const data::ImageSize& size,
               int64_t classes) {
  const auto text = [](const data::ImageSize& s) {
    return detail::concat(s.channels, " x ", s.height, " x ", s.width);
  };
  TARE_CHECK(images.image_size() == size, "data ", images.origin(), ": images of ", text(images.image_size()),
             ", model ", model, " takes ", text(size));
  TARE_CHECK(images.classes() <= classes, "data ", images.origin(), ": labels up to ", images.classes() - 1,
             ", model ", model, " has ", classes, " classes");
}

// Rows of logits (B, classes) whose greatest is the label's.
int64_t count_right(const Tensor& logits, const Tensor& labels) {
  const Tensor chosen = argmax(logits, 1);
  const int64_t *best = chosen.data<int64_t>(), *label = labels.data<int64_t>();
  int64_t right = 0;
  for (int64_t b = 0; b < labels.numel(); ++b) right += best[b] == label[b];
  return right;
}

}  // namespace

ImageRun::ImageRun(const RunOptions& options, const data::ImageSize& size, int64_t classes) : Run(options) {
  check_image_options(options_);
  augmentation_ = data::parse_augmentation(options_.augment);
  if (options_.data.empty()) options_.data = kSynthetic;
  images_ = options_.data == kSynthetic
                ? data::synthetic_images({.size = size, .classes = classes, .seed = options_.seed})
                : data::read_image_folder(options_.data);
  check_fit(*images_, options_.model, size, classes);
  hash_ = images_->hash();
  const data::ImageSampler sampler(images_->train(), options_.batch, options_.seed);
  if (options_.epochs > 0) options_.steps = options_.epochs * sampler.batches_per_epoch();
  check_options();
}

ImageRun::~ImageRun() = default;

void ImageRun::start(nn::ImageClassifier& model) {
  classifier_ = &model;
  optimize(model);
  seek(0);
}

const TaskWords& ImageRun::words() const {
  static constexpr TaskWords kWords{"images", "images", "images", "nats"};
  return kWords;
}

void ImageRun::next_batch() { batch_ = loader_->next(); }

Run::Forward ImageRun::forward() {
  const Var logits = classifier_->forward(batch_.images);
  const LossSum loss = cross_entropy(logits, batch_.labels);
  const double right = double(count_right(logits.value(), batch_.labels));
  return {loss.sum * (1.0 / double(loss.count)), right / double(loss.count)};
}

void ImageRun::seek(int64_t step) {
  loader_ = std::make_unique<data::ImageLoader>(
      images_, data::ImageLoaderOptions{options_.batch, options_.seed, augmentation_, step});
}

Evaluation ImageRun::evaluate(int64_t images, const GoOn& go_on) {
  const data::Span heldout = images_->heldout();
  Evaluation result;
  result.samples_available = heldout.size();
  const int64_t wanted = images == 0 ? heldout.size() : std::min(images, heldout.size());
  const nn::EvalScope eval(*classifier_);
  double sum = 0;
  int64_t right = 0;
  while (result.samples < wanted && (!go_on || go_on(result.samples, wanted))) {
    std::vector<int64_t> chosen;
    for (; result.samples < wanted && int64_t(chosen.size()) < kEvaluationBatch; ++result.samples)
      chosen.push_back(heldout.begin + data::spread(result.samples, wanted, heldout.size()));
    const data::ImageBatch batch = data::image_batch(*images_, chosen);
    const Var logits = classifier_->forward(batch.images);
    sum += cross_entropy(logits, batch.labels).sum.value().item<double>();
    right += count_right(logits.value(), batch.labels);
  }
  result.items = result.samples;
  if (result.items > 0) {
    result.loss = sum / double(result.items);
    result.accuracy = double(right) / double(result.items);
  }
  return result;
}

Json ImageRun::describe_data() const {
  return Json::object({{"data", images_->origin()},
                       {"data_hash", hash_},
                       {"train_images", images_->train().size()},
                       {"heldout_images", images_->heldout().size()},
                       {"epochs", options_.epochs},
                       {"augment", options_.augment}});
}

void ImageRun::make_paths_absolute(Json& run) const {
  if (options_.data != kSynthetic) run.set("data", std::filesystem::absolute(options_.data).string());
}

}  // namespace tare::train
