// SPDX-License-Identifier: Apache-2.0
// How attention is cut into tasks, and the scratch of each. Private to attention's front and CPU twin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tare/core/dtype.h"

namespace tare::kernels::cpu {

inline constexpr int64_t kAttentionBlock = 64;  // queries, and keys, of a tile

// Tasks run in a fixed number of slots, each with scratch of its own: slot s takes tasks s, s + slots, ...
struct AttentionSlots {
  int64_t slots = 1;
  int64_t elements = 0;  // of each, in the accumulation type
};

// Row length of a (rows, D) tile: whole vectors of 64 bytes.
inline int64_t attention_width(int64_t D, int64_t element_size) {
  const int64_t lanes = 64 / element_size;
  return (D + lanes - 1) / lanes * lanes;
}

// As many rounds as it takes to run `tasks` in at most `most` slots, evenly filled.
inline int64_t even_slots(int64_t tasks, int64_t most) {
  const int64_t rounds = std::max<int64_t>(1, (tasks + most - 1) / most);
  return std::max<int64_t>(1, (tasks + rounds - 1) / rounds);
}

// Tiles: q^T and out^T (D, 64), k and v (64, width), scores (64, 64). One task per block of queries of a
// head.
inline AttentionSlots attention_forward_slots(int64_t heads, int64_t T, int64_t D, int64_t element_size) {
  const int64_t b = kAttentionBlock, blocks = (T + b - 1) / b;
  return {even_slots(heads * blocks, 64), b * (2 * D + 2 * attention_width(D, element_size) + b)};
}

// Tiles: q^T, dout^T (D, 64), q, dout, k, v, dq (64, width), P and dS (64, 64); dk and dv (S, width). One
// task per head, in as many slots as keep within 8 MiB, but 16 to 64.
inline AttentionSlots attention_backward_slots(int64_t heads, int64_t S, int64_t D, int64_t element_size) {
  const int64_t b = kAttentionBlock, width = attention_width(D, element_size);
  const int64_t elements = b * (2 * D + 5 * width + 2 * b) + 2 * S * width;
  const int64_t within = (int64_t(8) << 20) / (elements * element_size);
  return {even_slots(heads, std::clamp<int64_t>(within, 16, 64)), elements};
}

}  // namespace tare::kernels::cpu
