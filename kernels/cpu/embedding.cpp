// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/embedding.h"

#include <cstring>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements per thread at least
constexpr int64_t kColumns = 16;  // columns that a thread adds up go by cache lines

template <class I> void check_ids(const char* op, const I* ids, int64_t n, int64_t V) {
  for (int64_t i = 0; i < n; ++i)
    TARE_CHECK(int64_t(ids[i]) >= 0 && int64_t(ids[i]) < V, op, ": id ", int64_t(ids[i]), " at position ", i,
               " is outside the table's ", V, " rows");
}

// Columns [begin, end) of all rows, in the order of the ids.
template <class I, class T, class G>
TARE_INLINE void embedding_backward_columns(const I* ids, const T* dy, G* dtable, int64_t n, int64_t cols,
                                            int64_t begin, int64_t end) {
  for (int64_t i = 0; i < n; ++i) {
    const T* row = dy + i * cols;
    G* out = dtable + int64_t(ids[i]) * cols;
#pragma omp simd
    for (int64_t c = begin; c < end; ++c) out[c] = G(acc_t<G>(out[c]) + acc_t<G>(acc_t<T>(row[c])));
  }
}

template <class I, class T, class G>
void embedding_backward_typed(const Tensor& ids, const Tensor& dy, Tensor& dtable, Accum accum) {
  const I* pids = ids.data<I>();
  const T* pdy = dy.data<T>();
  G* out = dtable.mutable_data<G>();
  const int64_t n = ids.numel(), V = dtable.size(0), cols = dtable.size(1);
  check_ids("embedding_backward", pids, n, V);
  if (accum == Accum::set)
    parallel_for(V * cols, kGrain, [&](int64_t begin, int64_t end) {
      std::memset(static_cast<void*>(out + begin), 0, size_t(end - begin) * sizeof(G));
    });
  if (n == 0) return;
  // Threads share the columns: each element is summed by one thread.
  parallel_for((cols + kColumns - 1) / kColumns, kGrain / (n * kColumns) + 1,
               [&](int64_t begin, int64_t end) {
                 isa_call<embedding_backward_columns<I, T, G>>(pids, pdy, out, n, cols, begin * kColumns,
                                                               std::min(end * kColumns, cols));
               });
}

}  // namespace

void embedding_forward(const Tensor& ids, const Tensor& table, Tensor& y) {
  const int64_t n = ids.numel(), V = table.size(0), row_bytes = table.size(1) * size_of(table.dtype());
  const char* from = static_cast<const char*>(table.raw());
  char* to = static_cast<char*>(y.mutable_raw());
  visit_index(ids.dtype(), "embedding_forward", [&]<class I>() {
    const I* pids = ids.data<I>();
    check_ids("embedding_forward", pids, n, V);
    if (row_bytes == 0) return;
    parallel_for(n, kGrain / table.size(1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::memcpy(to + i * row_bytes, from + int64_t(pids[i]) * row_bytes, size_t(row_bytes));
    });
  });
}

void embedding_backward(const Tensor& ids, const Tensor& dy, Tensor& dtable, Accum accum) {
  visit_index(ids.dtype(), "embedding_backward", [&]<class I>() {
    visit_floating(dy.dtype(), "embedding_backward", [&]<class T>() {
      if (dtable.dtype() == dy.dtype())
        embedding_backward_typed<I, T, T>(ids, dy, dtable, accum);
      else
        embedding_backward_typed<I, T, acc_t<T>>(ids, dy, dtable, accum);
    });
  });
}

}  // namespace tare::kernels::cpu
