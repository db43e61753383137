// SPDX-License-Identifier: Apache-2.0
// Three passes over the gradients in pieces of rows, for a batch of parameters at once; between them the
// small sums.
#include "tare/kernels/adafactor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/row_sum.h"
#include "tare/kernels/cpu/stream_sum.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kMatricesPerThread = 16;  // at least, whose factors one finds
constexpr int64_t kStretch = 1024;          // elements of a row whose sum stays in A

struct PieceSums {
  double param_sq, update_sq;
};

// What the elements of an entry share in their update.
struct EntryScales {
  double step;   // times g / sqrt(v): step size and clipping
  double decay;  // times p
};

// One entry with its part of the scratch. Factors are such that g times those of its row and column is
// g / sqrt(v); where variances are clamped, factors of row and column make v.
template <class A> struct Work {
  const TensorEntry& e;
  AdafactorGeometry at;
  PieceSums* sums;      // (pieces)
  EntryScales* scales;  // one
  double* rows;         // (rows): sums of squares, then factors
  A* columns;           // (slots, cols): sums of squares over the rows of a slot
  double* column_sums;  // (matrices, cols)
  A* column_factors;    // (matrices, cols)

  Work(const TensorEntry& entry, double* scratch) : e(entry), at(entry) {
    sums = reinterpret_cast<PieceSums*>(scratch);
    scales = reinterpret_cast<EntryScales*>(sums + at.pieces());
    rows = reinterpret_cast<double*>(scales + 1);
    columns = reinterpret_cast<A*>(rows + at.rows);
    column_sums = rows + at.rows + at.column_slots() * at.cols;
    column_factors = reinterpret_cast<A*>(column_sums + at.matrices() * at.cols);
  }
  const A* grad(int64_t row) const { return static_cast<const A*>(e.grad) + row * at.cols; }
  A* state(int k) const { return static_cast<A*>(e.states[k]); }
};

// Consecutive entries of a table.
struct Batch {
  std::span<const TensorEntry> entries;
  double* scratch;
};

template <class A, class F> void for_entries(const Batch& batch, F f) {
  double* scratch = batch.scratch;
  for (const TensorEntry& e : batch.entries) {
    const Work<A> work(e, scratch);
    scratch += work.at.scratch_doubles();
    f(work);
  }
}

// f(work, piece) for every piece of every entry, in parallel.
template <class A, class F> void for_pieces(const Batch& batch, F f) {
  int64_t total = 0;
  for (const TensorEntry& e : batch.entries) total += AdafactorGeometry(e).pieces();
  parallel_for(total, 1, [&](int64_t begin, int64_t end) {
    int64_t first = 0;
    for_entries<A>(batch, [&](const Work<A>& work) {
      const int64_t pieces = work.at.pieces(), last = std::min(end - first, pieces);
      for (int64_t i = std::max<int64_t>(begin - first, 0); i < last; ++i) f(work, i);
      first += pieces;
    });
  });
}

// f(first, last, matrix): the rows of a piece, apart by the matrix that they belong to.
template <class F> void for_runs(const AdafactorGeometry& at, int64_t piece, F f) {
  const int64_t end = std::min((piece + 1) * at.piece_rows, at.rows);
  for (int64_t row = piece * at.piece_rows; row < end;) {
    const int64_t matrix = row / at.matrix_rows, last = std::min((matrix + 1) * at.matrix_rows, end);
    f(row, last, matrix);
    row = last;
  }
}

// ---- The sums of squares

template <class A>
TARE_INLINE void square_rows(const A* g, A scale, int64_t rows, int64_t cols, A* columns, double* row_sums) {
  for (int64_t j = 0; j < cols; ++j) columns[j] = 0;
  for (int64_t row = 0; row < rows; ++row, g += cols) {
    double total = 0;
    for (int64_t begin = 0; begin < cols; begin += kStretch) {
      const int64_t end = begin + kStretch < cols ? begin + kStretch : cols;
      A sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = begin; j < end; ++j) {
        const A scaled = scale * g[j], square = scaled * scaled;
        columns[j] += square;
        sum += square;
      }
      total += double(sum);
    }
    row_sums[row] = total;
  }
}

// The running mean of squares of what is not factored.
template <class A>
TARE_INLINE void mean_squares(A* v, const A* g, A scale, int64_t n, A kept, A gain, A eps1) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A scaled = scale * g[i];
    v[i] = kept * v[i] + gain * (scaled * scaled + eps1);
  }
}

// mean[i] = kept mean[i] + gain (scale sums[i] + eps1), and the sum of these.
template <class A>
TARE_INLINE void update_means(A* mean, const double* sums, int64_t n, double kept, double gain, double scale,
                              double eps1, double* total) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    mean[i] = A(kept * double(mean[i]) + gain * (scale * sums[i] + eps1));
    sum += double(mean[i]);
  }
  *total = sum;
}

// numerator / sqrt(mean), so that an element's factors of row and column multiply.
template <class A, class F>
TARE_INLINE void inverse_roots(const A* mean, F* factors, int64_t n, A numerator) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) factors[i] = F(numerator / std::sqrt(mean[i]));
}

template <class A> TARE_INLINE void add_rows(const A* rows, int64_t count, int64_t cols, double* sum) {
  for (int64_t j = 0; j < cols; ++j) sum[j] = 0;
  for (int64_t row = 0; row < count; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) sum[j] += double(rows[row * cols + j]);
  }
}

// ---- The updates u = scale g / sqrt(v) of a row

template <class A> struct FactoredRow {
  A scale;  // with the factor of the row
  const A* column;
  const A* g;
  TARE_INLINE A operator()(int64_t j) const { return scale * column[j] * g[j]; }
};

template <class A> struct ClampedRow {
  A scale, row, floor;
  const A* column;
  const A* g;
  TARE_INLINE A operator()(int64_t j) const {
    const A v = row * column[j];
    return scale * g[j] / std::sqrt(v > floor ? v : floor);
  }
};

template <class A> struct Factored {
  double scale;
  const double* rows;
  const A* column;
  const A* g;
  int64_t cols;
  TARE_INLINE FactoredRow<A> row(int64_t i) const { return {A(scale * rows[i]), column, g + i * cols}; }
};

template <class A> struct Clamped {
  double scale;
  A floor;
  const double* rows;
  const A* column;
  const A* g;
  int64_t cols;
  TARE_INLINE ClampedRow<A> row(int64_t i) const {
    return {A(scale), A(rows[i]), floor, column, g + i * cols};
  }
};

// What is not factored: one row, whose v stands for the column.
template <class A> struct Whole {
  A scale, floor;
  const A* v;
  const A* g;
  TARE_INLINE ClampedRow<A> row(int64_t) const { return {scale, A(1), floor, v, g}; }
};

template <class U> struct SquareOf {
  U u;
  TARE_INLINE auto operator()(int64_t j) const { return u(j) * u(j); }
};

template <class U, class A>
TARE_INLINE void sum_update_squares(U updates, int64_t rows, int64_t cols, double* out) {
  double total = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const auto row = updates.row(i);
    for (int64_t begin = 0; begin < cols; begin += kStretch) {
      const int64_t end = begin + kStretch < cols ? begin + kStretch : cols;
      total += double(row_sum_from<A>(begin, end, SquareOf<decltype(row)>{row}));
    }
  }
  *out += total;
}

template <bool kMoment, class U, class T, class A>
TARE_INLINE void apply_updates(U updates, int64_t rows, int64_t cols, T* p, A* m, A beta1, A decay) {
  for (int64_t i = 0; i < rows; ++i, p += cols) {
    const auto row = updates.row(i);
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) {
      A u = row(j);
      if constexpr (kMoment) {
        u = beta1 * m[j] + (A(1) - beta1) * u;
        m[j] = u;
      }
      p[j] = T(decay * A(p[j]) - u);
    }
    if constexpr (kMoment) m += cols;
  }
}

// ---- The step

template <class T> class Adafactor {
  using A = acc_t<T>;
  using Job = Work<A>;

 public:
  Adafactor(const AdafactorArgs& args, const StepState& state)
      : args_(args), state_(state), grad_scale_(double(state.clip_coefficient) / double(state.loss_scale)) {
    const double floor = args.clamp_variance ? args.eps1 * args.eps1 : 0;
    floor_ = std::max(A(floor), std::numeric_limits<A>::min());
  }

  void run(const TensorTable& table, double* scratch) const {
    for (int64_t first = 0; first < table.count();) {
      const int64_t end = adafactor_batch_end(table, first);
      const std::span entries(table.host());
      run({entries.subspan(size_t(first), size_t(end - first)), scratch});
      first = end;
    }
  }

 private:
  void run(const Batch& batch) const {
    for_pieces<A>(batch, [&](const Job& w, int64_t piece) { find_squares(w, piece); });
    for_entries<A>(batch, [&](const Job& w) {
      if (!w.at.factored) return;
      parallel_for(w.at.matrices(), kMatricesPerThread, [&](int64_t begin, int64_t end) {
        for (int64_t matrix = begin; matrix < end; ++matrix) find_factors(w, matrix);
      });
    });
    for_pieces<A>(batch, [&](const Job& w, int64_t piece) { find_norms(w, piece); });
    for_entries<A>(batch, [&](const Job& w) {
      if (w.at.rows > 0) find_scales(w);
    });
    for_pieces<A>(batch, [&](const Job& w, int64_t piece) { move(w, piece); });
  }

  static double updates_of(const TensorEntry& e) { return double(*e.updates + 1); }
  double beta2_gain(const TensorEntry& e) const { return std::pow(updates_of(e), args_.decay_rate); }
  double lr_of(const TensorEntry& e) const { return state_.learning_rate * e.lr_factor; }

  void find_squares(const Job& w, int64_t piece) const {
    const double gain = beta2_gain(w.e);
    double param_sq = 0;
    for_runs(w.at, piece, [&](int64_t first, int64_t last, int64_t matrix) {
      const int64_t n = last - first, cols = w.at.cols;
      if (args_.scale_parameter) {
        double sum = 0;
        isa_call<sum_of_squares<T>>(static_cast<const T*>(w.e.param) + first * cols, n * cols, &sum);
        param_sq += sum;
      }
      if (w.at.factored)
        isa_call<square_rows<A>>(w.grad(first), A(grad_scale_), n, cols,
                                 w.columns + AdafactorGeometry::column_slot(piece, matrix) * cols,
                                 w.rows + first);
      else
        isa_call<mean_squares<A>>(w.state(0) + first, w.grad(first), A(grad_scale_), n, A(1 - gain), A(gain),
                                  eps1_of_whole());
    });
    w.sums[piece] = {param_sq, 0};
  }

  A eps1_of_whole() const { return args_.clamp_variance ? A(0) : A(args_.eps1); }

  // The means of rows and columns of a matrix, and their factors.
  void find_factors(const Job& w, int64_t matrix) const {
    const AdafactorGeometry& at = w.at;
    const int64_t first = matrix * at.matrix_rows, n = at.matrix_rows, cols = at.cols;
    const int64_t first_piece = first / at.piece_rows, last_piece = (first + n - 1) / at.piece_rows;
    const A* of_pieces = w.columns + AdafactorGeometry::column_slot(first_piece, matrix) * cols;
    double* column_sums = w.column_sums + matrix * cols;
    A *row_means = w.state(0) + first, *column_means = w.state(1) + matrix * cols;
    A* column_factors = w.column_factors + matrix * cols;
    const double gain = beta2_gain(w.e);
    const double eps1 = args_.clamp_variance ? 0 : args_.eps1;
    double total = 0, ignored = 0;
    isa_call<add_rows<A>>(of_pieces, last_piece - first_piece + 1, cols, column_sums);
    isa_call<update_means<A>>(row_means, w.rows + first, n, 1 - gain, gain, 1 / double(cols), eps1, &total);
    isa_call<update_means<A>>(column_means, column_sums, cols, 1 - gain, gain, 1 / double(n), eps1, &ignored);
    const double mean = total / double(n);
    if (args_.clamp_variance) {
      for (int64_t i = 0; i < n; ++i) w.rows[first + i] = double(row_means[i]) / std::max(mean, args_.eps1);
      std::copy_n(column_means, cols, column_factors);
    } else {
      isa_call<inverse_roots<A, double>>(row_means, w.rows + first, n, A(std::sqrt(mean)));
      isa_call<inverse_roots<A, A>>(column_means, column_factors, cols, A(1));
    }
  }

  // f(updates, rows, cols, first element) for the runs of a piece, u = scale g / sqrt(v).
  template <class F> void for_updates(const Job& w, int64_t piece, double scale, F f) const {
    for_runs(w.at, piece, [&](int64_t first, int64_t last, int64_t matrix) {
      const int64_t n = last - first, cols = w.at.cols;
      const A *column = w.column_factors + matrix * cols, *g = w.grad(first);
      if (!w.at.factored)
        f(Whole<A>{A(scale), floor_, w.state(0) + first, g}, 1, n, first);
      else if (args_.clamp_variance)
        f(Clamped<A>{scale, floor_, w.rows + first, column, g, cols}, n, cols, first * cols);
      else
        f(Factored<A>{scale, w.rows + first, column, g, cols}, n, cols, first * cols);
    });
  }

  void find_norms(const Job& w, int64_t piece) const {
    for_updates(w, piece, grad_scale_, [&]<class U>(U updates, int64_t rows, int64_t cols, int64_t) {
      isa_call<sum_update_squares<U, A>>(updates, rows, cols, &w.sums[piece].update_sq);
    });
  }

  double rate_of(const TensorEntry& e) const {
    const double lr = lr_of(e), t = updates_of(e);
    switch (args_.rate) {
      case AdafactorRate::given:
        return lr;
      case AdafactorRate::relative:
        return lr * std::min(1e-2, 1 / std::sqrt(t));
      case AdafactorRate::warmup:
        return lr * std::min(1e-6 * t, 1 / std::sqrt(t));
      case AdafactorRate::capped:
        return std::min(lr, 1 / std::sqrt(t));
    }
    TARE_THROW("adafactor_update: rate ", int(args_.rate));
  }

  void find_scales(const Job& w) const {
    PieceSums total{0, 0};
    for (int64_t piece = 0; piece < w.at.pieces(); ++piece) {
      total.param_sq += w.sums[piece].param_sq;
      total.update_sq += w.sums[piece].update_sq;
    }
    const double n = double(w.e.numel), rms = std::sqrt(total.update_sq / n);
    double step = rate_of(w.e);
    if (args_.scale_parameter) step *= std::max(args_.eps2, std::sqrt(total.param_sq / n));
    const double decay = w.e.weight_decay * (args_.decay_by_step ? step : lr_of(w.e));
    *w.scales = {step / std::max(1.0, rms / args_.clip_threshold), 1 - decay};
  }

  void move(const Job& w, int64_t piece) const {
    const A decay = A(w.scales->decay), beta1 = A(args_.beta1);
    for_updates(w, piece, grad_scale_ * w.scales->step,
                [&]<class U>(U updates, int64_t rows, int64_t cols, int64_t first) {
                  T* p = static_cast<T*>(w.e.param) + first;
                  if (args_.beta1 != 0)
                    isa_call<apply_updates<true, U, T, A>>(
                        updates, rows, cols, p, w.state(w.at.factored ? 2 : 1) + first, beta1, decay);
                  else
                    isa_call<apply_updates<false, U, T, A>>(updates, rows, cols, p, static_cast<A*>(nullptr),
                                                            beta1, decay);
                });
  }

  AdafactorArgs args_;
  StepState state_;
  double grad_scale_;  // of the gradients as they are
  A floor_;            // of an estimated variance
};

}  // namespace

void adafactor_update(const TensorTable& table, const AdafactorArgs& args, Tensor& scratch,
                      const Tensor& state) {
  const StepState s = *static_cast<const StepState*>(state.raw());
  if (s.found_inf != 0) return;
  visit_floating(table.param_dtype(), "adafactor_update", [&]<class T>() {
    Adafactor<T>(args, s).run(table, static_cast<double*>(scratch.mutable_raw()));
  });
}

}  // namespace tare::kernels::cpu
