// SPDX-License-Identifier: Apache-2.0
// Images that are made when they are read.
#include <vector>

#include "tare/core/error.h"
#include "tare/core/hash.h"
#include "tare/core/rng.h"
#include "tare/data/image_dataset.h"

namespace tare::data {
namespace {

constexpr int64_t kCells = 8;  // a pattern's cells in each direction

// Byte i of a stream of random ones.
class Bytes {
 public:
  explicit Bytes(uint64_t key) : key_(key) {}
  uint8_t at(int64_t i) {
    if (i / 16 != block_) {
      block_ = i / 16;
      bits_ = philox(key_, uint64_t(block_), 0);
    }
    return uint8_t(bits_.v[i / 4 % 4] >> (8 * (i % 4)));
  }

 private:
  uint64_t key_;
  int64_t block_ = -1;
  Philox4 bits_{};
};

class Synthetic : public ImageDataset {
 public:
  explicit Synthetic(const SyntheticImages& o) : o_(o) {
    TARE_CHECK(o.size.channels >= 1 && o.size.height >= 1 && o.size.width >= 1, "synthetic images of ",
               o.size.channels, " x ", o.size.height, " x ", o.size.width, ": expected at least 1 of each");
    TARE_CHECK(o.classes >= 1, "synthetic images of ", o.classes, " classes: expected at least 1");
    TARE_CHECK(o.count >= 10, o.count, " synthetic images: expected at least 10");
  }

  ImageSize image_size() const override { return o_.size; }
  int64_t size() const override { return o_.count; }
  Span train() const override { return {0, o_.count - o_.count / 10}; }
  int64_t label(int64_t index) const override {
    check(index);
    const Philox4 bits = philox(key("label"), uint64_t(index), 0);
    const uint64_t word = uint64_t(bits.v[0]) << 32 | bits.v[1];
    return int64_t((unsigned __int128)(word)*uint64_t(o_.classes) >> 64);
  }
  int64_t classes() const override { return o_.classes; }
  std::string origin() const override { return "synthetic"; }
  std::string hash() const override {
    return detail::concat("synthetic:", o_.count, "x", o_.size.channels, "x", o_.size.height, "x",
                          o_.size.width, ",classes=", o_.classes, ",seed=", o_.seed);
  }

  void read(int64_t index, uint8_t* out) const override {
    Bytes pattern(RngKey{key("pattern"), uint64_t(label(index))}.mix());
    Bytes noise(RngKey{key("noise"), uint64_t(index)}.mix());
    const auto& [channels, height, width] = o_.size;
    int64_t i = 0;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < height; ++y)
        for (int64_t x = 0; x < width; ++x, ++i) {
          const int64_t cell = (c * kCells + y * kCells / height) * kCells + x * kCells / width;
          out[i] = uint8_t((3 * pattern.at(cell) + noise.at(i)) / 4);
        }
  }

 private:
  void check(int64_t index) const {
    TARE_CHECK(index >= 0 && index < o_.count, "synthetic images: image ", index, " of ", o_.count);
  }
  // Apart from all other random numbers of the seed.
  uint64_t key(std::string_view what) const {
    return RngKey{o_.seed, fnv1a(fnv1a(kFnvBasis, "data.synthetic_images."), what)}.mix();
  }

  SyntheticImages o_;
};

}  // namespace

std::shared_ptr<const ImageDataset> synthetic_images(const SyntheticImages& options) {
  return std::make_shared<Synthetic>(options);
}

}  // namespace tare::data
