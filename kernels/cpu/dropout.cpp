// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/dropout.h"

#include <algorithm>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // elements per thread at least
constexpr int64_t kGroups = 256;  // Philox calls whose words are kept before they are used

// Elements [4 first, 4 first + n) of one sample.
template <class T>
TARE_INLINE void dropout_row(const T* x, T* y, int64_t first, int64_t n, DropoutStream stream,
                             uint64_t counter, Accum accum) {
  using A = acc_t<T>;
  const uint32_t threshold = dropout_threshold(stream.p);
  const A scale = A(1 / (1 - stream.p));
  uint32_t words[4 * kGroups];
  for (int64_t done = 0; done < n; done += 4 * kGroups) {
    const int64_t count = n - done < 4 * kGroups ? n - done : 4 * kGroups, groups = (count + 3) / 4;
#pragma omp simd
    for (int64_t g = 0; g < groups; ++g) {
      const Philox4 bits = philox(stream.key, uint64_t(first + done / 4 + g), counter);
      for (int j = 0; j < 4; ++j) words[4 * g + j] = bits.v[j];
    }
    if (accum == Accum::set) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i)
        y[done + i] = T(words[i] < threshold ? A(0) : A(x[done + i]) * scale);
    } else {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i)
        y[done + i] = T(A(y[done + i]) + (words[i] < threshold ? A(0) : A(x[done + i]) * scale));
    }
  }
}

}  // namespace

void dropout(const Tensor& x, const DropoutStream& stream, Tensor& y, Accum accum) {
  if (x.numel() == 0) return;
  const int64_t samples = x.size(0), per_sample = x.numel() / samples, groups = (per_sample + 3) / 4;
  visit_floating(x.dtype(), "dropout", [&]<class T>() {
    const T* px = x.data<T>();
    T* py = y.mutable_data<T>();
    // Groups of four elements of all samples, shared out evenly.
    parallel_for(samples * groups, kGrain / 4, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t b = begin / groups, first = begin % groups;
        const int64_t last = std::min(groups, first + end - begin);
        const int64_t offset = b * per_sample + 4 * first;
        isa_call<dropout_row<T>>(px + offset, py + offset, first, std::min(4 * last, per_sample) - 4 * first,
                                 stream, dropout_counter(stream, b), accum);
        begin += last - first;
      }
    });
  });
}

}  // namespace tare::kernels::cpu
