// SPDX-License-Identifier: Apache-2.0
// Labelled images of one size: read from a folder of IDX files, or synthetic.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tare/core/tensor.h"
#include "tare/data/order.h"

namespace tare::data {

struct ImageSize {
  int64_t channels = 1, height = 0, width = 0;
  int64_t pixels() const { return channels * height * width; }
  bool operator==(const ImageSize&) const = default;
};

// Thread-safe to read. Training images come first, then those held out.
class ImageDataset {
 public:
  virtual ~ImageDataset() = default;

  virtual ImageSize image_size() const = 0;
  virtual int64_t size() const = 0;
  virtual Span train() const = 0;
  virtual Span heldout() const { return {train().end, size()}; }
  // Image `index`, (channels, height, width), into image_size().pixels() bytes; Error beyond the end.
  virtual void read(int64_t index, uint8_t* out) const = 0;
  virtual int64_t label(int64_t index) const = 0;
  virtual int64_t classes() const = 0;     // one more than the greatest label
  virtual std::string hash() const = 0;    // names the content, however it is packed
  virtual std::string origin() const = 0;  // the folder, or "synthetic"
};

// A folder as MNIST lies there: SPLIT-images-idx3-ubyte and SPLIT-labels-idx1-ubyte, for SPLIT train, t10k or
// both, plain or with .gz (of a file that is there twice, the plain one is read). With both splits, t10k is
// held out; with one, its last tenth is. The pixels stay in memory (u8, category data). Error that names the
// folder or file: nothing to read, images or labels alone, fewer than 10 images, other numbers of images and
// labels, images of two sizes, a file that read_idx() refuses.
std::shared_ptr<const ImageDataset> read_image_folder(const std::filesystem::path& folder);

struct SyntheticImages {
  ImageSize size;
  int64_t classes = 10;
  uint64_t seed = 0;
  int64_t count = 2000;  // the last tenth is held out
};
// Images made when they are read: three parts of their class's pattern of 8 x 8 cells, one part of noise.
// Everything follows from the seed.
std::shared_ptr<const ImageDataset> synthetic_images(const SyntheticImages& options);

}  // namespace tare::data
