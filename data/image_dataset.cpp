// SPDX-License-Identifier: Apache-2.0
#include "tare/data/image_dataset.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tare/core/error.h"
#include "tare/core/hash.h"
#include "tare/data/idx.h"

namespace tare::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLeastImages = 10;  // a tenth of them is then one

// Of one split: images (N, H, W), labels (N).
struct Part {
  Tensor images, labels;
  int64_t count() const { return images.size(0); }
};

// "" when neither the plain nor the packed file is there.
fs::path find_file(const fs::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    fs::path path = folder / (name + ending);
    std::error_code fault;
    if (fs::exists(path, fault)) return path;
  }
  return {};
}

std::optional<Part> read_part(const fs::path& folder, const std::string& split) {
  const std::string images = split + "-images-idx3-ubyte", labels = split + "-labels-idx1-ubyte";
  const fs::path image_file = find_file(folder, images), label_file = find_file(folder, labels);
  if (image_file.empty() && label_file.empty()) return {};
  TARE_CHECK(!label_file.empty(), "images ", folder, ": ", image_file.filename(), " has no ", labels,
             " beside it, nor ", labels, ".gz");
  TARE_CHECK(!image_file.empty(), "images ", folder, ": ", label_file.filename(), " has no ", images,
             " beside it, nor ", images, ".gz");
  Part part{read_idx(image_file), read_idx(label_file)};
  TARE_CHECK(part.images.dim() == 3, image_file.string(), ": shape ", part.images.shape(),
             ", expected images (N, height, width)");
  TARE_CHECK(part.labels.dim() == 1, label_file.string(), ": shape ", part.labels.shape(),
             ", expected labels (N)");
  TARE_CHECK(part.labels.size(0) == part.count(), label_file.string(), ": ", part.labels.size(0),
             " labels for ", part.count(), " images");
  return part;
}

class FolderImages : public ImageDataset {
 public:
  FolderImages(const fs::path& folder, std::vector<Part> parts)
      : folder_(folder),
        parts_(std::move(parts)),
        size_{1, parts_[0].images.size(1), parts_[0].images.size(2)} {
    for (const Part& part : parts_) {
      TARE_CHECK(part.images.size(1) == size_.height && part.images.size(2) == size_.width, "images ", folder,
                 ": images of ", size_.height, " x ", size_.width, " and of ", part.images.size(1), " x ",
                 part.images.size(2));
      count_ += part.count();
      const uint8_t* labels = part.labels.data<uint8_t>();
      classes_ = std::max<int64_t>(classes_, 1 + *std::max_element(labels, labels + part.count()));
    }
    TARE_CHECK(count_ >= kLeastImages, "images ", folder, ": ", count_, " images; at least ", kLeastImages,
               " are needed to hold a tenth out");
  }

  ImageSize image_size() const override { return size_; }
  int64_t size() const override { return count_; }
  Span train() const override { return {0, parts_.size() == 1 ? count_ - count_ / 10 : parts_[0].count()}; }
  void read(int64_t index, uint8_t* out) const override {
    const auto [part, at] = find(index);
    const auto pixels = size_t(size_.pixels());
    std::memcpy(out, part.images.data<uint8_t>() + size_t(at) * pixels, pixels);
  }
  int64_t label(int64_t index) const override {
    const auto [part, at] = find(index);
    return part.labels.data<uint8_t>()[at];
  }
  int64_t classes() const override { return classes_; }
  std::string origin() const override { return folder_.string(); }

  // FNV-1a of each part's shape in text, pixels and labels.
  std::string hash() const override {
    uint64_t hash = kFnvBasis;
    for (const Part& part : parts_) {
      hash = fnv1a(hash, part.images.shape().str());
      for (const Tensor* t : {&part.images, &part.labels})
        hash = fnv1a(hash, std::span(t->data<uint8_t>(), size_t(t->numel())));
    }
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return std::string("fnv1a64:") + text;
  }

 private:
  std::pair<const Part&, int64_t> find(int64_t index) const {
    TARE_CHECK(index >= 0 && index < count_, "images ", folder_, ": image ", index, " of ", count_);
    const bool first = index < parts_[0].count();
    return {parts_[first ? 0 : 1], first ? index : index - parts_[0].count()};
  }

  fs::path folder_;
  std::vector<Part> parts_;  // one, or the one to train on and the one that is held out
  ImageSize size_;
  int64_t count_ = 0, classes_ = 0;
};

}  // namespace

std::shared_ptr<const ImageDataset> read_image_folder(const fs::path& folder) {
  std::error_code fault;
  TARE_CHECK(fs::is_directory(folder, fault), "images ", folder, ": no such folder");
  std::vector<Part> parts;
  for (const char* split : {"train", "t10k"})
    if (std::optional<Part> part = read_part(folder, split)) parts.push_back(std::move(*part));
  TARE_CHECK(!parts.empty(), "images ", folder,
             ": holds neither train-images-idx3-ubyte nor t10k-images-idx3-ubyte, plain or with .gz");
  return std::make_shared<FolderImages>(folder, std::move(parts));
}

}  // namespace tare::data
