// SPDX-License-Identifier: Apache-2.0
// Scores are held transposed, S^T (keys, queries): a softmax then runs down the rows of a tile, one query in
// each lane, and no sum crosses lanes. Tiles are worked on in panels of two vectors of queries.
#include "tare/kernels/attention.h"

#include <cmath>
#include <limits>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/attention_slots.h"
#include "tare/kernels/cpu/tile.h"
#include "tare/kernels/math.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kBlock = kAttentionBlock, kGroup = kAttentionGroup;
constexpr int64_t kUnbounded = std::numeric_limits<int32_t>::max();

// (rows, D) of one head; rows are `row` apart, elements of a row are neighbours.
template <class T> struct Rows {
  T* data = nullptr;
  int64_t row = 0;
};

// One head of one sample.
template <class T> struct Head {
  Rows<const T> q, k, v, dout;
  Rows<T> out, dq, dk, dv;
  acc_t<T>* lse = nullptr;
  const uint8_t* key_mask = nullptr;  // (S) or null
  int64_t T_, S, D;
  bool causal;
  acc_t<T> scale;
  Accum accum_q, accum_k, accum_v;
  bool dropout;
  uint64_t key, counter;  // of the random numbers
  int64_t head;
  uint32_t threshold;
  acc_t<T> kept_scale;
};

// A tile: queries [q0, q0 + queries) against keys [k0, k0 + keys); row s of S^T sees column t when
// s <= t + shift.
struct TileShape {
  int64_t q0, queries, k0, keys, shift;
};

template <class T> TARE_INLINE TileShape tile_shape(const Head<T>& h, int64_t q0, int64_t k0) {
  const int64_t shift = h.causal ? q0 + h.S - h.T_ - k0 : kUnbounded;
  return {q0, std::min(kBlock, h.T_ - q0), k0, std::min(kBlock, h.S - k0), shift};
}

// Keys of the tile that some query of columns [n, n + panel) sees.
TARE_INLINE int64_t visible_rows(const TileShape& t, int64_t n, int64_t panel) {
  return std::clamp<int64_t>(n + panel + t.shift, 0, t.keys);
}

// The first key block that no query of the block sees.
template <class T> TARE_INLINE int64_t keys_seen(const Head<T>& h, int64_t q0) {
  if (!h.causal) return h.S;
  return std::clamp<int64_t>(std::min(q0 + kBlock, h.T_) + h.S - h.T_, 0, h.S);
}

// s (rows, panel) = k qt, -inf where a query does not see a key. Rows are kBlock apart.
template <class T, Isa I, int P>
TARE_INLINE void score_panel(const Head<T>& h, const TileShape& t, const acc_t<T>* k, int64_t k_row,
                             const acc_t<T>* qt, int64_t n, int64_t rows, acc_t<T>* s) {
  using A = acc_t<T>;
  constexpr A kHidden = -std::numeric_limits<A>::infinity();
  tile_gemm<A, I>({k, k_row, 1, qt + n, kBlock, s, kBlock, rows, P, h.D});
  for (int64_t r = std::max<int64_t>(0, n + t.shift + 1); r < rows; ++r)
#pragma omp simd
    for (int64_t c = 0; c < P; ++c) s[r * kBlock + c] = r > n + c + t.shift ? kHidden : s[r * kBlock + c];
  if (!h.key_mask) return;
  for (int64_t r = 0; r < rows; ++r)
    if (!h.key_mask[t.k0 + r])
      for (int64_t c = 0; c < P; ++c) s[r * kBlock + c] = kHidden;
}

// factor (P): 0 or 1 / (1 - p) for queries [query, query + P) and one key.
template <class T, int P>
TARE_INLINE void dropout_factors(const Head<T>& h, int64_t query, int64_t key, acc_t<T>* factor) {
  for (int64_t c = 0; c < P; c += 4) {
    const Philox4 bits = attention_dropout_bits(h.key, h.counter, h.head, (query + c) / 4, key);
    for (int i = 0; i < 4; ++i) factor[c + i] = bits.v[i] < h.threshold ? acc_t<T>(0) : h.kept_scale;
  }
}

// A block of queries while the keys pass by.
template <class A> struct QueryBlock {
  A *qt, *ot;    // (width, kBlock)
  A *max, *sum;  // (kBlock): the greatest score so far, the sum of exp(score - max)
};

template <class A> struct KeyTiles {
  A *k, *v;  // (kBlock, width)
  A* s;      // (kBlock, kBlock)
  int64_t width;
};

// One tile's part of the online softmax for P queries: max, sum and ot take in the tile's keys.
template <class T, Isa I, int P>
TARE_INLINE void forward_panel(const Head<T>& h, const TileShape& t, const QueryBlock<acc_t<T>>& block,
                               const KeyTiles<acc_t<T>>& tile, int64_t n) {
  using A = acc_t<T>;
  const int64_t rows = visible_rows(t, n, P);
  if (rows == 0) return;
  A* s = tile.s + n;
  score_panel<T, I, P>(h, t, tile.k, tile.width, block.qt, n, rows, s);
  A max[P], alpha[P], sum[P] = {};
  for (int c = 0; c < P; ++c) max[c] = block.max[n + c];
  for (int64_t r = 0; r < rows; ++r)
#pragma omp simd
    for (int c = 0; c < P; ++c) max[c] = s[r * kBlock + c] > max[c] ? s[r * kBlock + c] : max[c];
#pragma omp simd
  for (int c = 0; c < P; ++c) {
    const A shift = max[c] == -std::numeric_limits<A>::infinity() ? A(0) : max[c];
    alpha[c] = math::exp(block.max[n + c] - shift);
    block.max[n + c] = max[c];
    max[c] = shift;
  }
  for (int64_t r = 0; r < rows; ++r) {
    A* row = s + r * kBlock;
#pragma omp simd
    for (int c = 0; c < P; ++c) {
      row[c] = math::exp(row[c] - max[c]);
      sum[c] += row[c];
    }
  }
#pragma omp simd
  for (int c = 0; c < P; ++c) block.sum[n + c] = block.sum[n + c] * alpha[c] + sum[c];
  if (h.dropout) {
    for (int64_t r = 0; r < rows; ++r) {
      A factor[P];
      dropout_factors<T, P>(h, t.q0 + n, t.k0 + r, factor);
#pragma omp simd
      for (int c = 0; c < P; ++c) s[r * kBlock + c] *= factor[c];
    }
  }
  A* ot = block.ot + n;
  for (int64_t d = 0; d < h.D; ++d)
#pragma omp simd
    for (int c = 0; c < P; ++c) ot[d * kBlock + c] *= alpha[c];
  tile_gemm<A, I>({tile.v, 1, tile.width, s, kBlock, ot, kBlock, h.D, P, rows, true});
}

// q^T, scaled, and an empty softmax. `natural` is a (kBlock, width) tile to work in.
template <class T, Isa I>
TARE_INLINE void start_queries(const Head<T>& h, int64_t q0, const QueryBlock<acc_t<T>>& block,
                               acc_t<T>* natural, int64_t width) {
  using A = acc_t<T>;
  load_tile(TileSource{h.q.data + q0 * h.q.row, h.q.row, 1}, std::min(kBlock, h.T_ - q0), h.D, natural, width,
            kBlock, h.scale);
  transpose_tile<A, I>(natural, width, kBlock, width, block.qt, kBlock);
  std::fill_n(block.ot, width * kBlock, A(0));
  std::fill_n(block.max, kBlock, -std::numeric_limits<A>::infinity());
  std::fill_n(block.sum, kBlock, A(0));
}

template <class T, Isa I>
TARE_INLINE void finish_queries(const Head<T>& h, int64_t q0, const QueryBlock<acc_t<T>>& block,
                                acc_t<T>* natural, int64_t width) {
  using A = acc_t<T>;
  transpose_tile<A, I>(block.ot, kBlock, width, kBlock, natural, width);
  for (int64_t q = 0; q < std::min(kBlock, h.T_ - q0); ++q) {
    const A sum = block.sum[q], inverse = sum == 0 ? A(0) : 1 / sum;
    h.lse[q0 + q] = block.max[q] + std::log(sum);
    T* out = h.out.data + (q0 + q) * h.out.row;
    const A* row = natural + q * width;
#pragma omp simd
    for (int64_t d = 0; d < h.D; ++d) out[d] = T(row[d] * inverse);
  }
}

// One group of queries of one head against all keys: each tile of keys is loaded once for the group.
template <class T> struct ForwardTask {
  template <Isa I> static TARE_INLINE void run(Head<T> h, int64_t group, acc_t<T>* scratch) {
    using A = acc_t<T>;
    constexpr int P = 2 * Vector<A, I>::kLanes;
    const int64_t first = group * kGroup * kBlock, width = attention_width(h.D, sizeof(A));
    const int64_t blocks = std::min(kGroup, (h.T_ - first + kBlock - 1) / kBlock);
    const KeyTiles<A> tile{scratch, scratch + kBlock * width, scratch + 2 * kBlock * width, width};
    scratch += kBlock * (2 * width + kBlock);
    QueryBlock<A> block[kGroup];
    for (int64_t i = 0; i < blocks; ++i, scratch += kBlock * (2 * width + 2)) {
      block[i] = {scratch, scratch + kBlock * width, scratch + 2 * kBlock * width,
                  scratch + kBlock * (2 * width + 1)};
      start_queries<T, I>(h, first + i * kBlock, block[i], tile.k, width);
    }
    const int64_t seen = keys_seen(h, first + (blocks - 1) * kBlock);
    for (int64_t k0 = 0; k0 < seen; k0 += kBlock) {
      const int64_t keys = std::min(kBlock, h.S - k0);
      load_tile(TileSource{h.k.data + k0 * h.k.row, h.k.row, 1}, keys, h.D, tile.k, width);
      load_tile(TileSource{h.v.data + k0 * h.v.row, h.v.row, 1}, keys, h.D, tile.v, width);
      for (int64_t i = 0; i < blocks; ++i) {
        const TileShape t = tile_shape(h, first + i * kBlock, k0);
        for (int64_t n = 0; n < t.queries; n += P) forward_panel<T, I, P>(h, t, block[i], tile, n);
      }
    }
    for (int64_t i = 0; i < blocks; ++i) finish_queries<T, I>(h, first + i * kBlock, block[i], tile.k, width);
  }
};

template <class A> struct BackwardTiles {
  A *qt, *dot;          // (D, kBlock): scale q^T, dout^T
  A *q, *dout, *k, *v;  // (kBlock, width); q is scaled too
  A* dq;                // (kBlock, width)
  A *p, *ds;            // (kBlock, kBlock), transposed as S
  A *dk, *dv;           // (S, width)
  int64_t width;
  A lse[kBlock], dot_out[kBlock];  // of each query; dot_out = sum(dout out)
};

// P M and dS of one tile for P queries; rows that they do not see are zeroed, since the products read them.
template <class T, Isa I, int P>
TARE_INLINE void backward_panel(const Head<T>& h, const TileShape& t, BackwardTiles<acc_t<T>>& tile,
                                int64_t n) {
  using A = acc_t<T>;
  const int64_t rows = visible_rows(t, n, P);
  A *p = tile.p + n, *ds = tile.ds + n;
  for (int64_t r = rows; r < t.keys; ++r)
#pragma omp simd
    for (int c = 0; c < P; ++c) p[r * kBlock + c] = ds[r * kBlock + c] = 0;
  if (rows == 0) return;
  score_panel<T, I, P>(h, t, tile.k, tile.width, tile.qt, n, rows, p);
  tile_gemm<A, I>({tile.v, tile.width, 1, tile.dot + n, kBlock, ds, kBlock, rows, P, h.D});
  const A* lse = tile.lse + n;
  const A* dot_out = tile.dot_out + n;
  for (int64_t r = 0; r < rows; ++r) {
    A* pr = p + r * kBlock;
    A* dr = ds + r * kBlock;
    if (!h.dropout) {
#pragma omp simd
      for (int c = 0; c < P; ++c) {
        pr[c] = math::exp(pr[c] - lse[c]);
        dr[c] = pr[c] * (dr[c] - dot_out[c]);
      }
    } else {
      A factor[P];
      dropout_factors<T, P>(h, t.q0 + n, t.k0 + r, factor);
#pragma omp simd
      for (int c = 0; c < P; ++c) {
        const A weight = math::exp(pr[c] - lse[c]);
        dr[c] = weight * (dr[c] * factor[c] - dot_out[c]);
        pr[c] = weight * factor[c];
      }
    }
  }
}

template <class T, class A>
TARE_INLINE void store_rows(const A* tile, int64_t width, Rows<T> to, int64_t first, int64_t rows, int64_t D,
                            A scale, Accum accum) {
  if (!to.data) return;
  for (int64_t r = 0; r < rows; ++r) {
    const A* s = tile + r * width;
    T* d = to.data + (first + r) * to.row;
    if (accum == Accum::set) {
#pragma omp simd
      for (int64_t c = 0; c < D; ++c) d[c] = T(scale * s[c]);
    } else {
#pragma omp simd
      for (int64_t c = 0; c < D; ++c) d[c] = T(A(d[c]) + scale * s[c]);
    }
  }
}

// The tiles of a block of queries that stay while the keys pass by.
template <class T, Isa I>
TARE_INLINE void load_queries(const Head<T>& h, int64_t q0, int64_t queries, BackwardTiles<acc_t<T>>& tile) {
  using A = acc_t<T>;
  const T* q = h.q.data + q0 * h.q.row;
  const T* dout = h.dout.data + q0 * h.dout.row;
  load_tile(TileSource{q, h.q.row, 1}, queries, h.D, tile.q, tile.width, kBlock, h.scale);
  load_tile(TileSource{dout, h.dout.row, 1}, queries, h.D, tile.dout, tile.width, kBlock);
  transpose_tile<A, I>(tile.q, tile.width, kBlock, tile.width, tile.qt, kBlock);
  transpose_tile<A, I>(tile.dout, tile.width, kBlock, tile.width, tile.dot, kBlock);
  for (int64_t r = 0; r < kBlock; ++r) {
    // Weights of a query that sees nothing, and of columns beyond the last query, come out as exp(-inf) = 0.
    tile.lse[r] = std::numeric_limits<A>::infinity();
    tile.dot_out[r] = 0;
    if (r >= queries) continue;
    if (h.lse[q0 + r] != -std::numeric_limits<A>::infinity()) tile.lse[r] = h.lse[q0 + r];
    const T* out = h.out.data + (q0 + r) * h.out.row;
    A dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t d = 0; d < h.D; ++d) dot += tile.dout[r * tile.width + d] * A(out[d]);
    tile.dot_out[r] = dot;
  }
}

// One head of one sample: blocks of queries, and for each the keys that it sees.
template <class T> struct BackwardTask {
  template <Isa I> static TARE_INLINE void run(Head<T> h, acc_t<T>* scratch) {
    using A = acc_t<T>;
    constexpr int P = 2 * Vector<A, I>::kLanes;
    BackwardTiles<A> tile;
    const int64_t w = tile.width = attention_width(h.D, sizeof(A));
    A** const tiles[] = {&tile.qt, &tile.dot, &tile.q,  &tile.dout, &tile.k, &tile.v,
                         &tile.dq, &tile.p,   &tile.ds, &tile.dk,   &tile.dv};
    const int64_t rows = kBlock * w, square = kBlock * kBlock, keys = h.S * w;
    const int64_t sizes[] = {rows, rows, rows, rows, rows, rows, rows, square, square, keys, keys};
    for (int i = 0; i < 11; scratch += sizes[i++]) *tiles[i] = scratch;
    std::fill_n(tile.dk, h.S * w, A(0));
    std::fill_n(tile.dv, h.S * w, A(0));
    for (int64_t q0 = 0; q0 < h.T_; q0 += kBlock) {
      const int64_t queries = std::min(kBlock, h.T_ - q0), seen = keys_seen(h, q0);
      load_queries<T, I>(h, q0, queries, tile);
      std::fill_n(tile.dq, kBlock * w, A(0));
      for (int64_t k0 = 0; k0 < seen; k0 += kBlock) {
        const TileShape t = tile_shape(h, q0, k0);
        load_tile(TileSource{h.k.data + k0 * h.k.row, h.k.row, 1}, t.keys, h.D, tile.k, w);
        load_tile(TileSource{h.v.data + k0 * h.v.row, h.v.row, 1}, t.keys, h.D, tile.v, w);
        for (int64_t n = 0; n < queries; n += P) backward_panel<T, I, P>(h, t, tile, n);
        tile_gemm<A, I>(
            {tile.p, kBlock, 1, tile.dout, w, tile.dv + k0 * w, w, t.keys, w, queries, true, -t.shift});
        tile_gemm<A, I>(
            {tile.ds, kBlock, 1, tile.q, w, tile.dk + k0 * w, w, t.keys, w, queries, true, -t.shift});
        tile_gemm<A, I>(
            {tile.ds, 1, kBlock, tile.k, w, tile.dq, w, queries, w, t.keys, true, -kUnbounded, t.shift});
      }
      store_rows(tile.dq, w, h.dq, q0, queries, h.D, h.scale, h.accum_q);
    }
    store_rows(tile.dk, w, h.dk, 0, h.S, h.D, A(1), h.accum_k);
    store_rows(tile.dv, w, h.dv, 0, h.S, h.D, A(1), h.accum_v);
  }
};

template <class T> Rows<const T> rows_of(const Tensor& t, int64_t b, int64_t head) {
  return {t.data<T>() + b * t.stride(0) + head * t.stride(1), t.stride(2)};
}
template <class T> Rows<T> rows_of(T* data, const Tensor& t, int64_t b, int64_t head) {
  if (!data) return {};
  return {data + b * t.stride(0) + head * t.stride(1), t.stride(2)};
}

template <class T>
Head<T> head_of(const AttentionOperands& in, const AttentionOptions& options, acc_t<T>* lse, int64_t index) {
  const int64_t H = in.q.size(1), b = index / H, head = index % H;
  Head<T> h{};
  h.q = rows_of<T>(in.q, b, head);
  h.k = rows_of<T>(in.k, b, head);
  h.v = rows_of<T>(in.v, b, head);
  h.T_ = in.q.size(2);
  h.S = in.k.size(2);
  h.D = in.q.size(3);
  h.lse = lse + index * h.T_;
  if (in.key_mask.defined()) h.key_mask = static_cast<const uint8_t*>(in.key_mask.raw()) + b * h.S;
  h.causal = options.causal;
  h.scale = acc_t<T>(options.scale != 0 ? options.scale : 1 / std::sqrt(double(std::max<int64_t>(h.D, 1))));
  h.dropout = options.dropout.p > 0;
  h.key = options.dropout.key;
  h.counter = dropout_counter(options.dropout, b);
  h.head = head;
  h.threshold = dropout_threshold(options.dropout.p);
  h.kept_scale = acc_t<T>(1 / (1 - options.dropout.p));
  return h;
}

}  // namespace

void attention_forward(const AttentionOperands& in, const AttentionOptions& options, Tensor& scratch,
                       Tensor& out, Tensor& lse) {
  const int64_t H = in.q.size(1), heads = in.q.size(0) * H, T = in.q.size(2);
  if (heads == 0 || T == 0) return;
  const int64_t groups = (T + kGroup * kBlock - 1) / (kGroup * kBlock);
  visit_floating(in.q.dtype(), "attention_forward", [&]<class E>() {
    using A = acc_t<E>;
    const AttentionSlots s = attention_forward_slots(heads, T, in.q.size(3), sizeof(A));
    A* memory = static_cast<A*>(scratch.mutable_raw());
    E* pout = out.mutable_data<E>();
    A* plse = lse.mutable_data<A>();
    parallel_for(s.slots, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot)
        for (int64_t task = slot; task < heads * groups; task += s.slots) {
          const int64_t index = task / groups;
          Head<E> h = head_of<E>(in, options, plse, index);
          h.out = rows_of(pout, out, index / H, index % H);
          isa_call_with<ForwardTask<E>>(h, task % groups, memory + begin * s.elements);
        }
    });
  });
}

void attention_backward(const Tensor& dout, const AttentionOperands& in, const Tensor& out, const Tensor& lse,
                        const AttentionOptions& options, Tensor& scratch, AttentionGradients& gradients) {
  const int64_t H = in.q.size(1), heads = in.q.size(0) * H;
  if (heads == 0) return;
  visit_floating(in.q.dtype(), "attention_backward", [&]<class E>() {
    using A = acc_t<E>;
    const AttentionSlots s = attention_backward_slots(heads, in.k.size(2), in.q.size(3), sizeof(A));
    A* memory = static_cast<A*>(scratch.mutable_raw());
    const auto writable = [](Tensor& t) { return t.defined() ? t.mutable_data<E>() : nullptr; };
    E *dq = writable(gradients.dq), *dk = writable(gradients.dk), *dv = writable(gradients.dv);
    parallel_for(s.slots, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot)
        for (int64_t index = slot; index < heads; index += s.slots) {
          const int64_t b = index / H, head = index % H;
          Head<E> h = head_of<E>(in, options, const_cast<A*>(lse.data<A>()), index);
          h.out = rows_of(const_cast<E*>(out.data<E>()), out, b, head);
          h.dout = rows_of<E>(dout, b, head);
          h.dq = rows_of(dq, gradients.dq, b, head);
          h.dk = rows_of(dk, gradients.dk, b, head);
          h.dv = rows_of(dv, gradients.dv, b, head);
          h.accum_q = gradients.accum_q;
          h.accum_k = gradients.accum_k;
          h.accum_v = gradients.accum_v;
          isa_call_with<BackwardTask<E>>(h, memory + begin * s.elements);
        }
    });
  });
}

}  // namespace tare::kernels::cpu
