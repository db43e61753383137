// SPDX-License-Identifier: Apache-2.0
#include "tare/core/rng.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>

#include "tare/core/parallel.h"
#include "tare/core/tensor.h"

namespace tare {
namespace {

constexpr int64_t kGrain = 4096;  // groups of four elements

// draw(bits, out) makes four doubles from four words.
template <class Draw> void fill_random(Tensor& t, RngKey key, Draw draw) {
  // Through dense memory on the CPU; on meta the same is accounted.
  const Device through = t.device().is_meta() ? kMeta : kCpu;
  if (!t.is_contiguous() || !(t.device() == through)) {
    Tensor dense = Tensor::empty(t.shape(), {t.dtype(), through, {}});
    fill_random(dense, key, draw);
    return copy(dense, t);
  }
  if (t.device().is_meta()) return t.bump_version();
  const uint64_t philox_key = key.mix();
  visit_floating(t.dtype(), "random fill", [&]<class T>() {
    T* data = t.mutable_data<T>();
    const int64_t n = t.numel();
    parallel_for((n + 3) / 4, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        double four[4];
        draw(philox(philox_key, uint64_t(group), 0), four);
        const int64_t count = std::min<int64_t>(4, n - 4 * group);
        for (int64_t j = 0; j < count; ++j) data[4 * group + j] = detail::convert<T>(four[j]);
      }
    });
  });
}

// The greatest number of the dtype below `bound`, which is finite.
template <class T> T greatest_below(double bound) {
  using Bits =
      std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  const T nearest = detail::convert<T>(bound);
  const double value = double(nearest);
  if (value < bound) return nearest;
  Bits bits = 0;
  std::memcpy(&bits, &nearest, sizeof bits);
  constexpr Bits kSign = Bits(Bits(1) << (8 * sizeof(T) - 1));
  bits = value == 0 ? Bits(kSign | 1) : value > 0 ? Bits(bits - 1) : Bits(bits + 1);
  T below;
  std::memcpy(static_cast<void*>(&below), &bits, sizeof bits);
  return below;
}

}  // namespace

void fill_normal(Tensor& t, double mean, double std, RngKey key) {
  fill_random(t, key, [mean, std](const Philox4& bits, double(&out)[4]) {
    for (int pair = 0; pair < 4; pair += 2) {
      const double u = (double(bits.v[pair]) + 0.5) * 0x1p-32;  // (0, 1)
      const double angle = 2 * std::numbers::pi * double(bits.v[pair + 1]) * 0x1p-32;
      const double radius = std * std::sqrt(-2 * std::log(u));
      out[pair] = mean + radius * std::cos(angle);
      out[pair + 1] = mean + radius * std::sin(angle);
    }
  });
}

void fill_uniform(Tensor& t, double low, double high, RngKey key) {
  // Rounding to the dtype must not reach `high`.
  const double most =
      visit_floating(t.dtype(), "fill_uniform", [&]<class T>() { return double(greatest_below<T>(high)); });
  fill_random(t, key, [low, high, most](const Philox4& bits, double(&out)[4]) {
    for (int j = 0; j < 4; ++j) out[j] = std::min(low + (high - low) * double(bits.v[j]) * 0x1p-32, most);
  });
}

}  // namespace tare
