// SPDX-License-Identifier: Apache-2.0
// Parts of a data set, and the order in which an epoch visits them.
#pragma once

#include <cstdint>

namespace tare::data {

// Part of a data set, in bytes or samples: [begin, end).
struct Span {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// A bijection of [0, n) that looks random: position of `index` under `key` (a Feistel network of four Philox
// rounds over the next power of four, walked until it lands inside).
int64_t permuted(int64_t index, int64_t n, uint64_t key);

// The number of the k-th of `chosen` among `count` things, spread evenly.
inline int64_t spread(int64_t k, int64_t chosen, int64_t count) {
  return int64_t(__int128(k) * count / chosen);
}

}  // namespace tare::data
