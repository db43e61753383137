// SPDX-License-Identifier: Apache-2.0
// Walks a tensor table in parallel: every thread takes one contiguous range of all elements, whatever tensors
// it spans.
#pragma once

#include <algorithm>

#include "tare/core/parallel.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels::cpu {

// f(entry, begin, end): elements [begin, end) of an entry.
template <class F> void for_table_ranges(const TensorTable& table, int64_t grain, F f) {
  const auto& entries = table.host();
  parallel_for(table.numel(), grain, [&](int64_t begin, int64_t end) {
    auto it = std::upper_bound(entries.begin(), entries.end(), begin,
                               [](int64_t at, const TensorEntry& e) { return at < e.first; });
    for (--it; it != entries.end() && it->first < end; ++it) {
      const int64_t from = std::max<int64_t>(begin - it->first, 0), to = std::min(end - it->first, it->numel);
      if (from < to) f(*it, from, to);
    }
  });
}

}  // namespace tare::kernels::cpu
