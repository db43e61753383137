// SPDX-License-Identifier: Apache-2.0
#include "tare/data/order.h"

#include <bit>

#include "tare/core/error.h"
#include "tare/core/rng.h"

namespace tare::data {

int64_t permuted(int64_t index, int64_t n, uint64_t key) {
  TARE_CHECK(index >= 0 && index < n, "permuted: index ", index, " of ", n);
  const int half = (std::bit_width(uint64_t(n - 1)) + 1) / 2;  // bits of either side
  const uint64_t mask = (uint64_t(1) << half) - 1;
  uint64_t x = uint64_t(index);
  do {
    uint64_t left = x >> half, right = x & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (philox(key, right, round).v[0] & mask);
      left = right;
      right = mixed;
    }
    x = left << half | right;
  } while (x >= uint64_t(n));
  return int64_t(x);
}

}  // namespace tare::data
