// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/extremes.h"

#include <algorithm>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least
constexpr int64_t kColumns = 256;  // whose bests are kept in the L1 cache
constexpr int64_t kLanes = 32;     // bests of a row, side by side
constexpr int64_t kBlock = 1024;   // elements of a row that are looked through for a position
constexpr int64_t kScan = 64;      // elements compared at once with the least that top-k keeps

// Whether a wins over b: larger or smaller, NaN over all else. Equal ones do not win.
struct Largest {
  template <class A> static TARE_INLINE bool wins(A a, A b) { return (a > b) | ((a != a) & (b == b)); }
};
struct Smallest {
  template <class A> static TARE_INLINE bool wins(A a, A b) { return (a < b) | ((a != a) & (b == b)); }
};

// Of n elements that lie `inner` apart, for each of at most kColumns columns.
template <class Order, class T>
TARE_INLINE void arg_columns_body(const T* __restrict x, int64_t n, int64_t inner, int64_t columns,
                                  int64_t* __restrict at) {
  using A = acc_t<T>;
  A best[kColumns];
  for (int64_t c = 0; c < columns; ++c) {
    best[c] = A(x[c]);
    at[c] = 0;
  }
  for (int64_t i = 1; i < n; ++i) {
    const T* row = x + i * inner;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      const A value = A(row[c]);
      const bool wins = Order::wins(value, best[c]);
      best[c] = wins ? value : best[c];
      at[c] = wins ? i : at[c];
    }
  }
}

// The winner of n elements and `best`.
template <class Order, class T> TARE_INLINE acc_t<T> winner(const T* __restrict x, int64_t n, acc_t<T> best) {
  using A = acc_t<T>;
  int64_t i = 0;
  if (n >= kLanes) {
    A lane[kLanes];
    for (int64_t c = 0; c < kLanes; ++c) lane[c] = best;
    for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
      for (int64_t c = 0; c < kLanes; ++c) {
        const A value = A(x[i + c]);
        lane[c] = Order::wins(value, lane[c]) ? value : lane[c];
      }
    }
    for (int64_t c = 0; c < kLanes; ++c) best = Order::wins(lane[c], best) ? lane[c] : best;
  }
  for (; i < n; ++i) best = Order::wins(A(x[i]), best) ? A(x[i]) : best;
  return best;
}

// Dense rows of n: the winner alone is looked for, then its first position in the block that it came from.
template <class Order, class T>
TARE_INLINE void arg_rows_body(const T* x, int64_t rows, int64_t n, int64_t* at) {
  using A = acc_t<T>;
  for (int64_t row = 0; row < rows; ++row, x += n) {
    A best = A(x[0]);
    int64_t position = 0;
    for (int64_t i = 0; i < n; i += kBlock) {
      const A of_block = winner<Order, T>(x + i, std::min(kBlock, n - i), best);
      if (!Order::wins(of_block, best)) continue;
      best = of_block;
      position = i;
    }
    while (Order::wins(best, A(x[position]))) ++position;
    at[row] = position;
  }
}

template <class Order, class T> void arg_extremum_typed(const Tensor& x, int axis, Tensor& indices) {
  const T* px = x.data<T>();
  int64_t* at = indices.mutable_data<int64_t>();
  const int64_t n = x.shape()[axis];
  int64_t inner = 1;
  for (int i = axis + 1; i < x.dim(); ++i) inner *= x.shape()[i];
  parallel_for(indices.numel(), kGrain / n + 1, [&](int64_t begin, int64_t end) {
    if (inner == 1) return isa_call<arg_rows_body<Order, T>>(px + begin * n, end - begin, n, at + begin);
    while (begin < end) {
      const int64_t first = begin % inner, columns = std::min({inner - first, end - begin, kColumns});
      isa_call<arg_columns_body<Order, T>>(px + begin / inner * n * inner + first, n, inner, columns,
                                           at + begin);
      begin += columns;
    }
  });
}

// *found = the first position from `begin` on whose element is larger than `least`; n if there is none.
template <class T>
TARE_INLINE void next_larger_body(const T* x, int64_t begin, int64_t n, acc_t<T> least, int64_t* found) {
  using A = acc_t<T>;
  int64_t i = begin;
  for (; i + kScan <= n; i += kScan) {
    int any = 0;
#pragma omp simd reduction(| : any)
    for (int64_t c = 0; c < kScan; ++c) any |= Largest::wins(A(x[i + c]), least) ? 1 : 0;
    if (any != 0) break;
  }
  while (i < n && !Largest::wins(A(x[i]), least)) ++i;
  *found = i;
}

// The row of indices is a heap with the least of those kept on top, until it is sorted.
template <class T> void topk_row(const T* x, int64_t n, int64_t k, T* values, int64_t* indices) {
  using A = acc_t<T>;
  const auto before = [x](int64_t a, int64_t b) {
    const A of_a = A(x[a]), of_b = A(x[b]);
    return Largest::wins(of_a, of_b) || (!Largest::wins(of_b, of_a) && a < b);
  };
  for (int64_t i = 0; i < k; ++i) indices[i] = i;
  std::make_heap(indices, indices + k, before);
  // A later element must be larger than the least to be kept.
  for (int64_t i = k; i < n; ++i) {
    isa_call<next_larger_body<T>>(x, i, n, A(x[indices[0]]), &i);
    if (i == n) break;
    std::pop_heap(indices, indices + k, before);
    indices[k - 1] = i;
    std::push_heap(indices, indices + k, before);
  }
  std::sort_heap(indices, indices + k, before);
  for (int64_t i = 0; i < k; ++i) values[i] = x[indices[i]];
}

}  // namespace

void arg_extremum(Extremum which, const Tensor& x, int axis, Tensor& indices) {
  visit_all(x.dtype(), [&]<class T>() {
    switch (which) {
      case Extremum::max:
        return arg_extremum_typed<Largest, T>(x, axis, indices);
      case Extremum::min:
        return arg_extremum_typed<Smallest, T>(x, axis, indices);
    }
  });
}

void topk(const Tensor& x, Tensor& values, Tensor& indices) {
  const int64_t n = x.size(-1), k = values.size(-1);
  if (values.numel() == 0) return;
  visit_all(x.dtype(), [&]<class T>() {
    const T* px = x.data<T>();
    T* pvalues = values.mutable_data<T>();
    int64_t* pindices = indices.mutable_data<int64_t>();
    parallel_for(values.numel() / k, kGrain / n + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        topk_row(px + row * n, n, k, pvalues + row * k, pindices + row * k);
    });
  });
}

}  // namespace tare::kernels::cpu
