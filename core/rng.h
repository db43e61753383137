// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). A number depends on its key and counter alone, never on threads, devices or what was drawn
// before.
#pragma once

#include <cstdint>

#include "tare/core/half.h"

namespace tare {

class Tensor;

struct Philox4 {
  uint32_t v[4];
};

TARE_HD Philox4 philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  uint32_t c0 = uint32_t(counter_low), c1 = uint32_t(counter_low >> 32);
  uint32_t c2 = uint32_t(counter_high), c3 = uint32_t(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xd2511f53u) * c0;
    const uint64_t p1 = uint64_t(0xcd9e8d57u) * c2;
    const uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c1 = uint32_t(p1);
    c3 = uint32_t(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return {{c0, c1, c2, c3}};
}

// [0, 1) with 24 bits.
TARE_HD float uniform_from_bits(uint32_t bits) { return float(bits >> 8) * 0x1p-24f; }

// What names a stream of random numbers: the user's seed and a place (a hash of the op's path, a tensor's
// index).
struct RngKey {
  uint64_t seed = 0;
  uint64_t stream = 0;

  // One 64-bit Philox key (finaliser of splitmix64 over both halves).
  TARE_HD uint64_t mix() const {
    uint64_t z = seed + 0x9e3779b97f4a7c15ull * (stream + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
};

// Element i of a row-major floating tensor from Philox(key, i / 4): N(mean, std^2) by Box and Muller, or
// U[low, high).
void fill_normal(Tensor& t, double mean, double std, RngKey key);
void fill_uniform(Tensor& t, double low, double high, RngKey key);

}  // namespace tare
