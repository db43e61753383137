// SPDX-License-Identifier: Apache-2.0
#include "tare/data/augment.h"

#include <algorithm>
#include <charconv>

#include "tare/core/error.h"
#include "tare/core/hash.h"
#include "tare/core/rng.h"

namespace tare::data {

Augmentation parse_augmentation(std::string_view text) {
  constexpr std::string_view kShift = "shift:";
  constexpr int64_t kMost = 1 << 15;
  Augmentation augmentation;
  if (text.empty()) return augmentation;
  TARE_CHECK(text.starts_with(kShift), "augment ", text, ": expected shift:N, the greatest move in pixels");
  const char *begin = text.data() + kShift.size(), *end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(begin, end, augmentation.shift);
  TARE_CHECK(fault == std::errc() && stop == end && augmentation.shift >= 1 && augmentation.shift <= kMost,
             "augment ", text, ": expected shift:N with N from 1 to ", kMost);
  return augmentation;
}

Move move_of(const Augmentation& augmentation, uint64_t seed, int64_t epoch, int64_t index) {
  if (augmentation.shift == 0) return {};
  constexpr uint64_t kStream = fnv1a(kFnvBasis, "data.augment");  // apart from the seed's other numbers
  const uint64_t key = RngKey{RngKey{seed, kStream}.mix(), uint64_t(epoch)}.mix();
  const Philox4 bits = philox(key, uint64_t(index), 0);
  const uint64_t moves = uint64_t(2 * augmentation.shift + 1);
  const auto pick = [&](uint32_t word) { return int64_t(word * moves >> 32) - augmentation.shift; };
  return {pick(bits.v[0]), pick(bits.v[1])};
}

void move_image(const uint8_t* in, const ImageSize& size, Move move, uint8_t* out) {
  std::fill_n(out, size.pixels(), uint8_t(0));
  const int64_t left = std::clamp<int64_t>(move.right, 0, size.width);  // of what is written of a row
  const int64_t right = std::clamp<int64_t>(size.width + move.right, 0, size.width);
  if (right <= left) return;
  for (int64_t c = 0; c < size.channels; ++c)
    for (int64_t y = 0; y < size.height; ++y) {
      const int64_t from = y - move.down;
      if (from < 0 || from >= size.height) continue;
      const uint8_t* row = in + (c * size.height + from) * size.width;
      std::copy(row + left - move.right, row + right - move.right,
                out + (c * size.height + y) * size.width + left);
    }
}

}  // namespace tare::data
