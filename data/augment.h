// SPDX-License-Identifier: Apache-2.0
// What is done to training images at random, differently in each epoch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tare/data/image_dataset.h"

namespace tare::data {

struct Augmentation {
  int64_t shift = 0;  // greatest move in pixels, up or down and left or right
};

// "" is none; "shift:2". Error that names what is wrong and what there is.
Augmentation parse_augmentation(std::string_view text);

struct Move {
  int64_t down = 0, right = 0;  // pixels; negative ones are up and left
  bool operator==(const Move&) const = default;
};

// Of the image `index` in that epoch: each of the (2 shift + 1)^2 moves is as likely. Follows from the
// arguments alone.
Move move_of(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t index);

// out[c][y][x] = in[c][y - down][x - right], 0 where that is outside; `out` is not `in`.
void move_image(const uint8_t* in, const ImageSize& size, Move move, uint8_t* out);

}  // namespace tare::data
