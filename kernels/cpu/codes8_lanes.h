// SPDX-License-Identifier: Apache-2.0
// 8-bit codes in loops: by look-ups of eight entries within a vector register where the instruction set has
// them (x86-64-v3: vpermps), by tables in memory elsewhere; the same codes either way. Whoever includes this
// is compiled with -ffp-contract=off, so that every instruction set rounds alike. Private to the CPU twins.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tare/core/isa.h"
#include "tare/kernels/codes8.h"
#include "tare/kernels/cpu/tile.h"

namespace tare::kernels::cpu {

inline constexpr int64_t kGroup = 32;  // numbers whose codes are found together; whole vectors of each set

template <Isa I> struct CodeLanes {
  static constexpr int kLanes = Vector<float, I>::kLanes;
  using F = typename Vector<float, I>::type;
  using N = typename Vector<int32_t, I>::type;
  using LoadF = typename Vector<float, I>::unaligned;
  using StoreN = typename Vector<int32_t, I>::unaligned;

  // table[index mod 8] in each lane.
  static TARE_INLINE void look_up(const F& table, const N& index, F& y) {
#if defined(__clang__)
    for (int l = 0; l < kLanes; ++l) y[l] = table[index[l] & 7];
#else
    y = __builtin_shuffle(table, index);  // which takes the index mod the lanes
#endif
  }
  // Read by 8 bytes: reading lanes one by one takes twice as long.
  static TARE_INLINE bool any(const N& lanes) {
    int64_t parts[sizeof(N) / 8], some = 0;
    std::memcpy(parts, &lanes, sizeof(N));
    for (const int64_t part : parts) some |= part;
    return some != 0;
  }
  // Eight entries, as often as they fit.
  static TARE_INLINE void load_table(const float* entries, F& table) {
    for (int l = 0; l < kLanes; ++l) table[l] = entries[l % 8];
  }
};

// The tables in registers.
template <Isa I> struct EncodeTables {
  using L = CodeLanes<I>;
  typename L::F edge, scale, offset, limit;
  TARE_INLINE explicit EncodeTables(const CodeMap& m) {
    L::load_table(m.edge.data(), edge);
    L::load_table(m.scale.data(), scale);
    L::load_table(m.offset.data(), offset);
    for (int l = 0; l < L::kLanes; ++l) limit[l] = std::bit_cast<float>(m.limit[size_t(l) % 8]);
  }
};

// One vector. The class is the decimal logarithm of x, which the bits of a float nearly are: 38 / 127 of a
// class per binade is at most half a class off at the edges between classes, one comparison corrects it.
// `near` becomes -1 in lanes that are too close to a threshold for rounding to be trusted.
template <Isa I, bool kSigned>
TARE_INLINE void encode_vector(const EncodeTables<I>& t, const typename CodeLanes<I>::F& x,
                               typename CodeLanes<I>::N& codes, typename CodeLanes<I>::N& near) {
  using L = CodeLanes<I>;
  using F = typename L::F;
  using N = typename L::N;
  constexpr float kSlope = float(38.0 / 127 / 8388608), kShift = 8388608 + 64 - 31;
  constexpr int32_t kTiny = 0x33800000;  // 2^-24: class 0
  const N bits = (N)x;
  const N magnitude = kSigned ? bits & 0x7fffffff : bits;
  const N clamped = magnitude > kTiny ? magnitude : kTiny;
  const F place = __builtin_convertvector(clamped, F) * kSlope + kShift;  // the low bits are the class
  N k = (N)place;
  F edge, scale, offset, limit;
  L::look_up(t.edge, k, edge);
  k -= (N)((F)magnitude >= edge);
  L::look_up(t.scale, k, scale);
  L::look_up(t.offset, k, offset);
  L::look_up(t.limit, k, limit);
  N z = (N)((F)magnitude * scale + offset);
  z = z < (N)limit ? z : (N)limit;
  near |= (z & 0x3ffc) == 0;
  N n = (z >> 14) & 255;
  if constexpr (kSigned) {
    const N sign = bits >> 31;
    n = ((n ^ sign) - sign) + 127;
    n = n > 0 ? n : N{};
  }
  codes = n;
}

// By memory: any map, any instruction set.
template <bool kSigned>
TARE_INLINE void encode_by_table(const CodeMap& map, const float* x, int64_t n, float inv, uint8_t* codes) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float scaled = x[i] * inv;
    const uint32_t bits = std::bit_cast<uint32_t>(scaled);
    const int32_t index = int32_t(map.index_of(bits & 0x7fffffff));
    const int32_t code = bits >> 31 ? 127 - index : 127 + index;
    codes[i] = kSigned ? uint8_t(code < 0 ? 0 : code) : uint8_t(index);
  }
}

// codes[i] = the code of x[i] * inv, which is at most 1 in magnitude but for rounding, and not negative for
// an unsigned map.
template <Isa I, bool kSigned>
TARE_INLINE void encode_run(const CodeMap& map, const float* x, int64_t n, float inv, uint8_t* codes) {
  int64_t done = 0;
  if constexpr (I != Isa::base) {
    if (map.has_lanes) {
      using L = CodeLanes<I>;
      const EncodeTables<I> tables(map);
      for (; done + kGroup <= n; done += kGroup) {
        alignas(64) int32_t wide[kGroup];
        typename L::N near = {};
#pragma GCC unroll 4
        for (int r = 0; r < kGroup / L::kLanes; ++r) {
          const typename L::F scaled =
              *reinterpret_cast<const typename L::LoadF*>(x + done + r * L::kLanes) * inv;
          typename L::N code;
          encode_vector<I, kSigned>(tables, scaled, code, near);
          *reinterpret_cast<typename L::StoreN*>(wide + r * L::kLanes) = code;
        }
#pragma omp simd
        for (int64_t i = 0; i < kGroup; ++i) codes[done + i] = uint8_t(wide[i]);
        if (L::any(near)) [[unlikely]]
          encode_by_table<kSigned>(map, x + done, kGroup, inv, codes + done);
      }
    }
  }
  encode_by_table<kSigned>(map, x + done, n - done, inv, codes + done);
}

// x[i] = value of codes[i] * absmax. In lanes, value = scale f + offset by the exponent of f mod 8, with f
// the code's magnitude, half a unit above it for signed maps.
template <Isa I, bool kSigned>
TARE_INLINE void decode_run(const CodeMap& map, const uint8_t* codes, int64_t n, float absmax, float* x) {
  int64_t done = 0;
  if constexpr (I != Isa::base) {
    if (map.has_lanes) {
      using L = CodeLanes<I>;
      using F = typename L::F;
      using N = typename L::N;
      F scales, offsets;
      L::load_table(map.value_scale.data(), scales);
      L::load_table(map.value_offset.data(), offsets);
      for (; done + kGroup <= n; done += kGroup) {
        alignas(64) int32_t wide[kGroup];
#pragma omp simd
        for (int64_t i = 0; i < kGroup; ++i) wide[i] = codes[done + i];
#pragma GCC unroll 4
        for (int r = 0; r < kGroup / L::kLanes; ++r) {
          const N code = *reinterpret_cast<const typename L::StoreN*>(wide + r * L::kLanes);
          F f, scale, offset;
          N sign = {};
          if constexpr (kSigned) {
            const F s = __builtin_convertvector(code - 127, F);
            sign = (N)s & INT32_MIN;
            f = s + (F)(sign | std::bit_cast<int32_t>(0.5f));
          } else {
            f = __builtin_convertvector(code, F) + 1.0f;
          }
          const N slot = (N)f >> 23;
          L::look_up(scales, slot, scale);
          L::look_up(offsets, slot, offset);
          const F value = scale * f + (F)((N)offset ^ sign);
          *reinterpret_cast<typename L::LoadF*>(x + done + r * L::kLanes) = value * absmax;
        }
      }
    }
  }
  const float* values = map.values.data();
#pragma omp simd
  for (int64_t i = done; i < n; ++i) x[i] = values[codes[i]] * absmax;
}

// The factor that brings a block into [-1, 1], and the absmax to store: 0 for a block whose greatest
// magnitude is denormal, as its reciprocal may be infinite.
struct BlockScale {
  float absmax, inv;
};
inline BlockScale block_scale(float greatest) {
  if (!(greatest >= 0x1p-126f)) return {0, 0};
  return {greatest, 1 / greatest};
}

}  // namespace tare::kernels::cpu
