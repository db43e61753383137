// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/grad_norm.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/norm_pieces.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kRun = 1024;  // f32 lanes are flushed to f64 after so many elements

// An infinity or NaN anywhere makes the sum infinite or NaN; so does an f32 overflow of a square, which the
// caller tells apart.
template <class T> TARE_INLINE void sum_squares(const T* g, int64_t n, double* out) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t count = n - begin < kRun ? n - begin : kRun;
    acc_t<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i) sum += acc_t<T>(g[begin + i]) * acc_t<T>(g[begin + i]);
    total += double(sum);
  }
  *out = total;
}

// The same in f64, for a piece whose squares overflow f32.
template <class T> double sum_squares_wide(const T* g, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += double(acc_t<T>(g[i])) * double(acc_t<T>(g[i]));
  return total;
}

struct Piece {
  int64_t entry, begin, count;
};

// The piece of that number, over all entries in order.
class PieceFinder {
 public:
  explicit PieceFinder(const TensorTable& table) : table_(table) {
    for (const TensorEntry& entry : table.host())
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + norm_pieces(entry.numel));
  }
  int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  Piece operator()(int64_t number) const {
    const auto entry = std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin();
    const int64_t begin = (number - (entry == 0 ? 0 : ends_[size_t(entry) - 1])) * kNormPiece;
    return {entry, begin, std::min(kNormPiece, table_.host()[size_t(entry)].numel - begin)};
  }

 private:
  const TensorTable& table_;
  std::vector<int64_t> ends_;
};

}  // namespace

void grad_norm(const TensorTable& table, int64_t first_index, Tensor& scratch, Tensor& state) {
  const PieceFinder piece_of(table);
  double* sums = static_cast<double*>(scratch.mutable_raw());
  visit_floating(table.grad_dtype(), "grad_norm", [&]<class T>() {
    parallel_for(piece_of.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t number = begin; number < end; ++number) {
        const Piece piece = piece_of(number);
        const T* g = static_cast<const T*>(table.host()[size_t(piece.entry)].grad) + piece.begin;
        isa_call<sum_squares<T>>(g, piece.count, &sums[number]);
        if (!std::isfinite(sums[number])) sums[number] = sum_squares_wide(g, piece.count);
      }
    });
  });
  StepState& s = *static_cast<StepState*>(state.mutable_raw());
  double total = 0;
  for (int64_t number = 0; number < piece_of.count(); ++number) {
    total += sums[number];
    if (std::isfinite(sums[number])) continue;
    if (s.found_inf == 0) s.first_nonfinite = int32_t(first_index + piece_of(number).entry);
    s.found_inf = 1;
  }
  s.grad_norm_sq += total / (double(s.loss_scale) * double(s.loss_scale));
}

}  // namespace tare::kernels::cpu
