// SPDX-License-Identifier: Apache-2.0
// Walks a tensor table: its elements are numbered through, whatever tensors they belong to.
#pragma once

#include <algorithm>

#include "tare/core/parallel.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels::cpu {

// f(entry, first, last): the elements [first, last) of each entry that [begin, end) of the table touches.
template <class F> void walk_table(const TensorTable& table, int64_t begin, int64_t end, F f) {
  const auto& entries = table.host();
  auto it = std::upper_bound(entries.begin(), entries.end(), begin,
                             [](int64_t at, const TensorEntry& e) { return at < e.first; });
  for (--it; it != entries.end() && it->first < end; ++it) {
    const int64_t first = std::max<int64_t>(begin - it->first, 0),
                  last = std::min(end - it->first, it->numel);
    if (first < last) f(*it, first, last);
  }
}

// The same over the whole table in parallel: every thread takes one contiguous range. Inside a tensor, cuts
// between threads fall on multiples of `unit` elements: a vector loop then meets the same elements in the
// same lanes for any number of threads.
template <class F> void for_table_ranges(const TensorTable& table, int64_t grain, F f, int64_t unit = 64) {
  parallel_for(table.numel(), grain, [&](int64_t begin, int64_t end) {
    walk_table(table, begin, end, [&](const TensorEntry& e, int64_t first, int64_t last) {
      first = first / unit * unit;
      if (last != e.numel) last = last / unit * unit;
      if (first < last) f(e, first, last);
    });
  });
}

}  // namespace tare::kernels::cpu
