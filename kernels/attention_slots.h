// SPDX-License-Identifier: Apache-2.0
// How attention is cut into tasks, and the scratch of each. Private to attention's front and CPU twin.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tare/core/dtype.h"

namespace tare::kernels::cpu {

inline constexpr int64_t kAttentionBlock = 64;  // queries, and keys, of a tile
inline constexpr int64_t kAttentionGroup = 4;   // blocks of queries that pass over the keys together

// Tasks run in a fixed number of slots, each with scratch of its own: slot s takes tasks s, s + slots, ... A
// thread that runs several slots uses the scratch of its first, which stays in its cache.
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

// In as many slots as keep the scratch within 8 MiB, but 16 to 64.
inline AttentionSlots attention_slots(int64_t tasks, int64_t elements, int64_t element_size) {
  const int64_t within = (int64_t(8) << 20) / std::max<int64_t>(1, elements * element_size);
  return {even_slots(tasks, std::clamp<int64_t>(within, 16, 64)), elements};
}

// One task per group of queries of a head: q^T and out^T (width, 64), max and sum (64) for each block of the
// group; k, v (64, width), scores (64, 64).
inline AttentionSlots attention_forward_slots(int64_t heads, int64_t T, int64_t D, int64_t element_size) {
  const int64_t b = kAttentionBlock, width = attention_width(D, element_size);
  const int64_t blocks = std::min((T + b - 1) / b, kAttentionGroup);
  const int64_t groups = (T + b * kAttentionGroup - 1) / (b * kAttentionGroup);
  return attention_slots(heads * groups, blocks * (2 * b * width + 2 * b) + 2 * b * width + b * b,
                         element_size);
}

// One task per head: q^T, dout^T (width, 64), q, dout, k, v, dq (64, width), P and dS (64, 64); dk and dv (S,
// width).
inline AttentionSlots attention_backward_slots(int64_t heads, int64_t S, int64_t D, int64_t element_size) {
  const int64_t b = kAttentionBlock, width = attention_width(D, element_size);
  return attention_slots(heads, b * (7 * width + 2 * b) + 2 * S * width, element_size);
}

}  // namespace tare::kernels::cpu
