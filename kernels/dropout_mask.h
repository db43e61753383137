// SPDX-License-Identifier: Apache-2.0
// Which elements dropout drops: a function of (seed, place, update, sample, element) alone, so that it does
// not depend on how a batch is padded, cut into micro-batches, spread over ranks or computed again.
#pragma once

#include <cstdint>

#include "tare/core/rng.h"

namespace tare::kernels {

// One random op of one update. Sample b of the batch has the global index first_sample + b * sample_stride.
struct DropoutStream {
  double p = 0;      // share that is dropped, in [0, 1); what stays is scaled by 1 / (1 - p)
  uint64_t key = 0;  // RngKey{seed, the op's path and its number there}.mix()
  uint64_t update = 0;
  int64_t first_sample = 0;
  int64_t sample_stride = 1;
};

// Philox's high counter: (update << 32) | global index of sample b.
TARE_HD uint64_t dropout_counter(const DropoutStream& s, int64_t b) {
  return (s.update << 32) | uint32_t(s.first_sample + b * s.sample_stride);
}
// An element is dropped when its 32 random bits are below this.
TARE_HD uint32_t dropout_threshold(double p) { return uint32_t(p * 0x1p32); }

// Random bits of an attention weight: lane query % 4 of this. The low counter packs head (16 bits), query / 4
// (24) and key (24), so that a weight's number does not depend on the lengths.
TARE_HD Philox4 attention_dropout_bits(uint64_t key, uint64_t counter, int64_t head, int64_t query_group,
                                       int64_t attended) {
  return philox(key, uint64_t(head) << 48 | uint64_t(query_group) << 24 | uint64_t(attended), counter);
}

}  // namespace tare::kernels
