// SPDX-License-Identifier: Apache-2.0
// Folders of images, their order, their augmentation and the loader.
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tare/core/error.h"
#include "tare/core/ledger.h"
#include "tare/data/image_loader.h"

#include "tests/support/expect_error.h"
#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"

namespace tare::data {
namespace {

using namespace tare::test;

constexpr const char* kImages = "-images-idx3-ubyte";
constexpr const char* kLabels = "-labels-idx1-ubyte";

// Image i of `count` has the bytes i, i + 1, ... (modulo 256) and the label (first + i) % 10.
void put_split(const TempDir& dir, const std::string& split, uint32_t count, uint32_t first = 0,
               uint32_t height = 3, uint32_t width = 4) {
  std::string images = idx_header({count, height, width}), labels = idx_header({count});
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t p = 0; p < height * width; ++p) images += char(first + i + p);
    labels += char((first + i) % 10);
  }
  put_file(dir / (split + kImages), images);
  put_file(dir / (split + kLabels), labels);
}

std::vector<uint8_t> pixels(const ImageDataset& images, int64_t index) {
  std::vector<uint8_t> out(size_t(images.image_size().pixels()));
  images.read(index, out.data());
  return out;
}

TEST(ImageFolder, OfOneSplitTheLastTenthIsHeldOut) {
  for (const char* split : {"t10k", "train"}) {
    const TempDir dir;
    put_split(dir, split, 109);
    const auto images = read_image_folder(dir.path());
    EXPECT_EQ(images->size(), 109);
    EXPECT_EQ(images->train().end, 99);
    EXPECT_EQ(images->heldout().begin, 99);
    EXPECT_EQ(images->heldout().size(), 10);
    EXPECT_EQ(images->image_size(), (ImageSize{1, 3, 4}));
    EXPECT_EQ(images->classes(), 10);
    EXPECT_EQ(images->label(57), 7);
    EXPECT_EQ(pixels(*images, 57)[11], 68);
    EXPECT_ERROR(images->label(109), "image 109 of 109");
    EXPECT_ERROR(pixels(*images, -1), "image -1");
  }
}

TEST(ImageFolder, OfBothSplitsTheTestSetIsHeldOut) {
  const TempDir dir;
  put_split(dir, "train", 50);
  put_split(dir, "t10k", 20, 50);
  const auto images = read_image_folder(dir.path());
  EXPECT_EQ(images->size(), 70);
  EXPECT_EQ(images->train().size(), 50);
  EXPECT_EQ(images->heldout().size(), 20);
  for (const int64_t i : {0, 49, 50, 69}) {
    EXPECT_EQ(pixels(*images, i)[0], i);
    EXPECT_EQ(images->label(i), i % 10);
  }
}

TEST(ImageFolder, ItsHashIsThatOfTheContentHoweverPacked) {
  const TempDir plain, packed, other;
  put_split(plain, "t10k", 20);
  put_split(packed, "t10k", 20);
  put_split(other, "t10k", 20, 1);
  for (const char* file : {kImages, kLabels}) {
    const auto from = packed / ("t10k" + std::string(file));
    put_file(from.string() + ".gz", gzipped(read_file(from)));
    std::filesystem::remove(from);
  }
  const std::string hash = read_image_folder(plain.path())->hash();
  EXPECT_EQ(read_image_folder(packed.path())->hash(), hash);
  EXPECT_NE(read_image_folder(other.path())->hash(), hash);
  EXPECT_TRUE(hash.starts_with("fnv1a64:")) << hash;
}

TEST(ImageFolder, WhatDoesNotFitTogetherIsAnErrorThatNamesIt) {
  const TempDir dir;
  EXPECT_ERROR(read_image_folder(dir / "nowhere"), "nowhere", "no such folder");
  EXPECT_ERROR(read_image_folder(dir.path()), "neither train-images", "nor t10k-images");
  put_split(dir, "t10k", 20);
  std::filesystem::remove(dir / ("t10k" + std::string(kLabels)));
  EXPECT_ERROR(read_image_folder(dir.path()), "t10k-images", "has no t10k-labels");
  put_file(dir / ("t10k" + std::string(kLabels)), idx_bytes({19}));
  EXPECT_ERROR(read_image_folder(dir.path()), "t10k-labels", "19 labels for 20 images");
  put_file(dir / ("t10k" + std::string(kLabels)), idx_bytes({20, 1}));
  EXPECT_ERROR(read_image_folder(dir.path()), "t10k-labels", "(20, 1)", "expected labels (N)");
  put_split(dir, "t10k", 20);
  put_file(dir / ("t10k" + std::string(kImages)), idx_bytes({20, 12}));
  EXPECT_ERROR(read_image_folder(dir.path()), "t10k-images", "(20, 12)", "expected images");
  std::filesystem::remove(dir / ("t10k" + std::string(kImages)));
  EXPECT_ERROR(read_image_folder(dir.path()), "t10k-labels", "has no t10k-images");
  put_split(dir, "t10k", 20);
  put_split(dir, "train", 20, 0, 4, 3);
  EXPECT_ERROR(read_image_folder(dir.path()), "4 x 3", "3 x 4");
  const TempDir small;
  put_split(small, "train", 9);
  EXPECT_ERROR(read_image_folder(small.path()), "9 images");
  put_split(small, "train", 20);
  put_file(small / ("train" + std::string(kImages)), idx_bytes({20, 3, 4}) + "x");
  EXPECT_ERROR(read_image_folder(small.path()), "train-images", "bytes follow");
}

TEST(ImageFolder, TheDigitsAreSplitInNineAndOne) {
  const auto file = test_data("mnist/t10k-images-idx3-ubyte.gz");
  if (!file) GTEST_SKIP() << "no mnist/t10k-images-idx3-ubyte.gz below TARE_TEST_DATA";
  const auto digits = read_image_folder(file->parent_path());
  EXPECT_EQ(digits->train().size(), 9000);
  EXPECT_EQ(digits->heldout().size(), 1000);
  EXPECT_EQ(digits->classes(), 10);
}

TEST(SyntheticImages, FollowFromTheSeedAndShowTheirClass) {
  const auto images = synthetic_images({{3, 20, 20}, 7, 5, 200});
  const auto again = synthetic_images({{3, 20, 20}, 7, 5, 200});
  const auto other = synthetic_images({{3, 20, 20}, 7, 6, 200});
  EXPECT_EQ(images->train().size(), 180);
  EXPECT_EQ(images->heldout().size(), 20);
  EXPECT_EQ(pixels(*images, 42), pixels(*again, 42));
  EXPECT_NE(pixels(*images, 42), pixels(*other, 42));
  EXPECT_NE(images->hash(), other->hash());
  std::set<int64_t> labels;
  double same = 0, different = 0;
  int same_count = 0, different_count = 0;
  const auto first = pixels(*images, 0);
  for (int64_t i = 1; i < images->size(); ++i) {
    labels.insert(images->label(i));
    const auto p = pixels(*images, i);
    double distance = 0;
    for (size_t k = 0; k < p.size(); ++k) distance += std::abs(int(p[k]) - int(first[k]));
    const bool alike = images->label(i) == images->label(0);
    (alike ? same : different) += distance / double(p.size());
    (alike ? same_count : different_count) += 1;
  }
  EXPECT_EQ(labels.size(), 7u);
  EXPECT_LT(same / same_count, 25);
  EXPECT_GT(different / different_count, 50);
  EXPECT_ERROR(pixels(*images, 200), "image 200 of 200");
}

TEST(ImageSampler, AnEpochVisitsEachImageOnceAndLeavesOutWhatFillsNoBatch) {
  const ImageSampler sampler({10, 110}, 16, 3);
  ASSERT_EQ(sampler.batches_per_epoch(), 6);
  std::set<int64_t> left_out;
  std::vector<int64_t> first;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    std::set<int64_t> seen;
    for (int64_t step = 6 * epoch; step < 6 * (epoch + 1); ++step) {
      EXPECT_EQ(sampler.epoch_of(step), epoch);
      for (int64_t b = 0; b < 16; ++b) seen.insert(sampler.image(step, b));
    }
    EXPECT_EQ(seen.size(), 96u);
    EXPECT_GE(*seen.begin(), 10);
    EXPECT_LT(*seen.rbegin(), 110);
    for (int64_t i = 10; i < 110; ++i)
      if (!seen.contains(i)) left_out.insert(i);
    first.push_back(sampler.image(6 * epoch, 0));
  }
  EXPECT_GT(left_out.size(), 8u) << "the same images are left out in each epoch";
  EXPECT_GT(std::set<int64_t>(first.begin(), first.end()).size(), 4u) << "epochs have the same order";
  EXPECT_NE(ImageSampler({10, 110}, 16, 4).image(0, 0) * 1000 + ImageSampler({10, 110}, 16, 4).image(0, 1),
            sampler.image(0, 0) * 1000 + sampler.image(0, 1));
  EXPECT_ERROR(ImageSampler({0, 10}, 11, 0), "batch of 11", "10 to train on");
}

TEST(Augmentation, ItsTextIsChecked) {
  EXPECT_EQ(parse_augmentation("").shift, 0);
  EXPECT_EQ(parse_augmentation("shift:2").shift, 2);
  for (const char* text :
       {"shift", "shift:", "shift:0", "shift:-1", "shift:2x", "shift:2.5", "flip", "shift:99999"})
    EXPECT_ERROR(parse_augmentation(text), text, "shift:N");
}

TEST(Augmentation, EveryMoveIsAboutAsLikelyAndFollowsFromEpochAndImage) {
  std::map<std::pair<int64_t, int64_t>, int> counts;
  constexpr int kImagesMoved = 25000;
  for (int64_t i = 0; i < kImagesMoved; ++i) {
    const Move m = move_of({2}, 7, i / 1000, i % 1000);
    EXPECT_EQ(move_of({2}, 7, i / 1000, i % 1000), m);
    ++counts[{m.down, m.right}];
  }
  ASSERT_EQ(counts.size(), 25u);
  double chi_square = 0;
  for (const auto& [move, count] : counts) {
    EXPECT_LE(std::abs(move.first), 2);
    EXPECT_LE(std::abs(move.second), 2);
    chi_square += std::pow(count - 1000, 2) / 1000.0;
  }
  EXPECT_LT(chi_square, 51.2);  // 24 degrees of freedom: exceeded once in a thousand seeds
  int changed = 0;
  for (int64_t i = 0; i < 1000; ++i) changed += !(move_of({2}, 7, 0, i) == move_of({2}, 7, 1, i));
  EXPECT_GT(changed, 900);
  EXPECT_EQ(move_of({}, 7, 0, 1), Move{});
}

TEST(Augmentation, WhatMovesInIsZero) {
  const ImageSize size{2, 3, 4};
  std::vector<uint8_t> in(24), out(24);
  for (size_t i = 0; i < in.size(); ++i) in[i] = uint8_t(i + 1);
  for (int64_t down = -4; down <= 4; ++down)
    for (int64_t right = -5; right <= 5; ++right) {
      std::fill(out.begin(), out.end(), uint8_t(255));
      move_image(in.data(), size, {down, right}, out.data());
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t y = 0; y < 3; ++y)
          for (int64_t x = 0; x < 4; ++x) {
            const int64_t fy = y - down, fx = x - right;
            const bool inside = fy >= 0 && fy < 3 && fx >= 0 && fx < 4;
            ASSERT_EQ(out[size_t((c * 3 + y) * 4 + x)], inside ? in[size_t((c * 3 + fy) * 4 + fx)] : 0);
          }
    }
}

TEST(ImageLoader, BatchesAreTheSamplersImagesNormalisedAndMoved) {
  const auto images = synthetic_images({{1, 8, 8}, 10, 1, 100});
  ImageLoader loader(images, {.batch = 16, .seed = 4, .augmentation = {2}});
  for (int64_t step = 0; step < 12; ++step) {
    const ImageBatch batch = loader.next();
    EXPECT_EQ(batch.images.shape(), (Shape{16, 1, 8, 8}));
    EXPECT_EQ(batch.epoch, step / 5);
    for (int64_t b = 0; b < 16; ++b) {
      const int64_t index = loader.sampler().image(step, b);
      EXPECT_EQ(batch.labels.data<int64_t>()[b], images->label(index));
      std::vector<uint8_t> moved(64);
      move_image(pixels(*images, index).data(), {1, 8, 8}, move_of({2}, 4, step / 5, index), moved.data());
      for (int64_t p = 0; p < 64; ++p)
        ASSERT_EQ(batch.images.data<float>()[b * 64 + p], float(moved[size_t(p)]) / 127.5f - 1.0f);
    }
  }
}

TEST(ImageLoader, ItBeginsAtAnyStepAsIfItHadGoneThere) {
  const auto images = synthetic_images({{1, 8, 8}, 10, 1, 100});
  const ImageLoaderOptions options{.batch = 16, .seed = 4, .augmentation = {2}};
  ImageLoader straight(images, options);
  for (int i = 0; i < 7; ++i) straight.next();
  ImageLoaderOptions later = options;
  later.first_step = 7;
  ImageLoader loader(images, later);
  for (int i = 0; i < 5; ++i) {
    const ImageBatch a = straight.next(), b = loader.next();
    EXPECT_EQ(a.images.to_vector<float>(), b.images.to_vector<float>());
    EXPECT_EQ(a.labels.to_vector<int64_t>(), b.labels.to_vector<int64_t>());
    EXPECT_EQ(a.epoch, b.epoch);
  }
}

TEST(ImageLoader, ItsBuffersAreOfAFixedPoolAndAHeldBatchStays) {
  const auto images = synthetic_images({{1, 8, 8}, 10, 1, 100});
  ImageLoader loader(images, {.batch = 8, .seed = 1});
  const ImageBatch held = loader.next();
  const auto before = held.images.to_vector<float>();
  const int64_t bytes = ledger(kCpu).current()[size_t(Category::data)];
  for (int i = 0; i < 50; ++i) loader.next();
  EXPECT_EQ(held.images.to_vector<float>(), before);
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::data)], bytes);
}

TEST(ImageBatch, HasTheImagesOfItsNumbers) {
  const auto images = synthetic_images({{1, 4, 4}, 10, 1, 100});
  const ImageBatch batch = image_batch(*images, {99, 3});
  EXPECT_EQ(batch.labels.to_vector<int64_t>(), (std::vector<int64_t>{images->label(99), images->label(3)}));
  EXPECT_EQ(batch.images.data<float>()[16], float(pixels(*images, 3)[0]) / 127.5f - 1.0f);
}

}  // namespace
}  // namespace tare::data
