// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/grad_norm.h"

#include <algorithm>
#include <cmath>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/stream_sum.h"
#include "tare/kernels/cpu/table_ranges.h"

namespace tare::kernels::cpu {
namespace {

// sum_of_squares() in f64, for a piece whose squares overflow f32.
template <class T> double sum_squares_wide(const T* g, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += double(acc_t<T>(g[i])) * double(acc_t<T>(g[i]));
  return total;
}

template <class T> NormPiece norm_of_piece(const TensorTable& table, int64_t begin, int64_t end) {
  NormPiece piece;
  walk_table(table, begin, end, [&](const TensorEntry& e, int64_t first, int64_t last) {
    const T* g = static_cast<const T*>(e.grad) + first;
    double sum = 0;
    isa_call<sum_of_squares<T>>(g, last - first, &sum);
    // An infinity or NaN anywhere makes the sum so, as does an f32 overflow of a square.
    if (!std::isfinite(sum)) sum = sum_squares_wide(g, last - first);
    if (!std::isfinite(sum) && piece.first_nonfinite < 0) piece.first_nonfinite = &e - table.host().data();
    piece.sum_of_squares += sum;
  });
  return piece;
}

// Number of the entry that holds an element of the table.
int64_t entry_at(const TensorTable& table, int64_t element) {
  int64_t number = 0;
  walk_table(table, element, element + 1,
             [&](const TensorEntry& e, int64_t, int64_t) { number = &e - table.host().data(); });
  return number;
}

}  // namespace

void grad_norm(const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state) {
  const int64_t numel = table.numel(), count = (numel + kNormPiece - 1) / kNormPiece;
  auto* pieces = static_cast<NormPiece*>(scratch.mutable_raw());
  visit_floating(table.grad_dtype(), "grad_norm", [&]<class T>() {
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pieces[i] = norm_of_piece<T>(table, i * kNormPiece, std::min((i + 1) * kNormPiece, numel));
    });
  });
  StepState& s = *static_cast<StepState*>(state.mutable_raw());
  const double scale_sq = double(s.loss_scale) * double(s.loss_scale);
  for (int64_t i = 0; i < count; ++i) {
    s.grad_norm_sq += pieces[i].sum_of_squares / scale_sq;
    if (std::isfinite(s.grad_norm_sq) || s.found_inf != 0) continue;
    s.found_inf = 1;
    const int64_t bad = pieces[i].first_nonfinite;
    s.first_nonfinite = int32_t(first_index + (bad >= 0 ? bad : entry_at(table, i * kNormPiece)));
  }
}

void count_nonfinite(const TensorTable& table, Tensor& state) {
  if (static_cast<const StepState*>(state.raw())->found_inf == 0) return;
  int64_t count = 0;
  visit_floating(table.grad_dtype(), "count_nonfinite", [&]<class T>() {
    for (const TensorEntry& e : table.host())
      for (int64_t i = 0; i < e.numel; ++i)
        count += !std::isfinite(acc_t<T>(static_cast<const T*>(e.grad)[i]));
  });
  static_cast<StepState*>(state.mutable_raw())->nonfinite += count;
}

}  // namespace tare::kernels::cpu
