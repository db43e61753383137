// SPDX-License-Identifier: Apache-2.0
// Register-blocked products of small dense tiles, for attention and for the GEMM that needs no library. Tiles
// lie in cache, their rows padded to whole vectors (tile_width). Private to the CPU twins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "tare/core/dtype.h"
#include "tare/core/isa.h"

namespace tare::kernels::cpu {

// Vectors of T as wide as the instruction set's registers (GCC's vector extension).
template <class T, Isa I> struct Vector {
  static constexpr int kBytes = vector_bytes(I);
  static constexpr int kLanes = kBytes / int(sizeof(T));
  typedef T type __attribute__((vector_size(kBytes)));
  typedef T unaligned __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};

// Row length of a tile of `n` columns: whole vectors of the widest instruction set, so that layouts do not
// depend on it.
template <class T> constexpr int64_t tile_width(int64_t n) {
  constexpr int64_t kLanes = 64 / int64_t(sizeof(T));
  return (n + kLanes - 1) / kLanes * kLanes;
}

// c (M, N) = or += a (M, K) b (K, N). a has any strides; b and c have dense rows, and N is a whole number of
// vectors. Rows [m, m + r) that are computed together take the terms max(0, m + first) <= k <
// min(K, m + r + last) only: a band, by default everything.
template <class T> struct TileGemm {
  static constexpr int64_t kAll = std::numeric_limits<int32_t>::max();

  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t c_row;
  int64_t M, N, K;
  bool add = false;
  int64_t first = -kAll, last = kAll;
};

template <class T, Isa I, int R, int V>
TARE_INLINE void tile_gemm_registers(const TileGemm<T>& g, int64_t m, int64_t n) {
  using Vec = Vector<T, I>;
  using Load = typename Vec::unaligned;
  const int64_t begin = std::max<int64_t>(0, m + g.first), end = std::min(g.K, m + R + g.last);
  const int64_t a_row = g.a_row, a_col = g.a_col, b_row = g.b_row;
  const T* a = g.a + m * a_row + begin * a_col;
  const T* b = g.b + n + begin * b_row;
  typename Vec::type sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = typename Vec::type{};
  for (int64_t k = begin; k < end; ++k, a += a_col, b += b_row) {
    typename Vec::type row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = *reinterpret_cast<const Load*>(b + v * Vec::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename Vec::type factor = a[r * a_row] - typename Vec::type{};  // the scalar in every lane
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] += factor * row[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    T* c = g.c + (m + r) * g.c_row + n;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      Load& out = *reinterpret_cast<Load*>(c + v * Vec::kLanes);
      out = g.add ? out + sum[r][v] : sum[r][v];
    }
  }
}

// All rows of the V vectors of columns that begin at n.
template <class T, Isa I, int V> TARE_INLINE void tile_gemm_columns(const TileGemm<T>& g, int64_t n) {
  constexpr int R = I == Isa::v4 ? 12 : 6;  // R * V accumulators, V of b and one of a fill the registers
  int64_t m = 0;
  for (; m + R <= g.M; m += R) tile_gemm_registers<T, I, R, V>(g, m, n);
  if constexpr (I == Isa::v4) {
    for (; m + 6 <= g.M; m += 6) tile_gemm_registers<T, I, 6, V>(g, m, n);
  }
  for (; m + 4 <= g.M; m += 4) tile_gemm_registers<T, I, 4, V>(g, m, n);
  for (; m < g.M; ++m) tile_gemm_registers<T, I, 1, V>(g, m, n);
}

template <class T, Isa I> TARE_INLINE void tile_gemm_body(TileGemm<T> g) {
  constexpr int64_t kLanes = Vector<T, I>::kLanes;
  int64_t n = 0;
  for (; n + 2 * kLanes <= g.N; n += 2 * kLanes) tile_gemm_columns<T, I, 2>(g, n);
  for (; n < g.N; n += kLanes) tile_gemm_columns<T, I, 1>(g, n);
}

// A call, not inlined: one instance per type and instruction set.
template <class T, Isa I> TARE_INLINE void tile_gemm(const TileGemm<T>& g) {
  isa_run<I, &tile_gemm_body<T, I>>(g);
}

// A matrix to read from: element (r, c) is data[r * row + c * col].
template <class S> struct TileSource {
  const S* data;
  int64_t row, col;
};
template <class S> TileSource(const S*, int64_t, int64_t) -> TileSource<S>;

// tile (tile_rows, width) = factor * src, converted.
// Columns from cols to width and rows from rows to tile_rows are 0.
template <class S, class T>
TARE_INLINE void load_tile(TileSource<S> src, int64_t rows, int64_t cols, T* tile, int64_t width,
                           int64_t tile_rows = 0, T factor = 1) {
  for (int64_t r = 0; r < rows; ++r) {
    const S* s = src.data + r * src.row;
    T* t = tile + r * width;
    if (src.col == 1) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) t[c] = factor * T(s[c]);
    } else {
      for (int64_t c = 0; c < cols; ++c) t[c] = factor * T(s[c * src.col]);
    }
    for (int64_t c = cols; c < width; ++c) t[c] = 0;
  }
  for (int64_t i = rows * width; i < tile_rows * width; ++i) tile[i] = 0;
}

// Exchanges the lanes of b whose bit H is clear with those of a where it is set: one step of a transposition.
template <int H, class V, int... J>
TARE_INLINE void exchange_lanes(V& a, V& b, std::integer_sequence<int, J...>) {
  constexpr int kLanes = sizeof...(J);
  const V x = a;
  a = __builtin_shufflevector(x, b, ((J & H) != 0 ? kLanes + J - H : J)...);
  b = __builtin_shufflevector(x, b, ((J & H) != 0 ? kLanes + J : J + H)...);
}

template <int H, class V, int L> TARE_INLINE void transpose_registers(V (&v)[L]) {
  if constexpr (H < L) {
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i)
      if ((i & H) == 0) exchange_lanes<H>(v[i], v[i + H], std::make_integer_sequence<int, L>{});
    transpose_registers<2 * H>(v);
  }
}

// out (cols, rows) = transposed tile (rows, cols); both extents are whole vectors.
template <class T, Isa I>
TARE_INLINE void transpose_tile(const T* tile, int64_t tile_row, int64_t rows, int64_t cols, T* out,
                                int64_t out_row) {
  using Vec = Vector<T, I>;
  using Load = typename Vec::unaligned;
  constexpr int L = Vec::kLanes;
  for (int64_t r = 0; r < rows; r += L) {
    for (int64_t c = 0; c < cols; c += L) {
      typename Vec::type v[L];
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) v[i] = *reinterpret_cast<const Load*>(tile + (r + i) * tile_row + c);
      transpose_registers<1>(v);
#pragma GCC unroll 16
      for (int i = 0; i < L; ++i) *reinterpret_cast<Load*>(out + (c + i) * out_row + r) = v[i];
    }
  }
}

}  // namespace tare::kernels::cpu
