// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/cpu/fold.h"

#include <algorithm>
#include <vector>

#include "tare/core/convert.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kColumns = 1024;        // of one task: 4 KiB of f32 accumulators and 8 KiB of totals
constexpr int64_t kLanes = 64;            // accumulators of a dense reduced axis
constexpr int64_t kFlushRows = 128;       // rows summed in f32 before they go into f64
constexpr int64_t kPieceTerms = 1 << 15;  // terms per output and piece, at least
constexpr int64_t kPartials = 1 << 14;    // totals of pieces that are kept: 128 KiB
constexpr int64_t kGrain = 16384;         // elements per thread at least

// acc[c] = combine(acc[c], terms of `rows` rows in column c)
template <class R, class S, class A>
TARE_INLINE void fold_rows_body(const S* __restrict x, int64_t row_stride, int64_t rows, int64_t columns,
                                const A* __restrict m, A* __restrict acc) {
  for (int64_t r = 0; r < rows; ++r, x += row_stride) {
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) acc[c] = R::combine(acc[c], R::term(A(acc_t<S>(x[c])), m[c]));
  }
}

// total[c] = combine(total[c], acc[c]), and acc starts again.
template <class R, class A>
TARE_INLINE void flush_body(A* __restrict acc, double* __restrict total, int64_t columns) {
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) total[c] = R::combine(total[c], double(acc[c]));
#pragma omp simd
  for (int64_t c = 0; c < columns; ++c) acc[c] = A(R::kInit);
}

// Axes of the same role with their strides in x, m and y, outermost first.
struct Axes {
  int count = 0;
  int64_t extent[kMaxDims], x[kMaxDims], m[kMaxDims], y[kMaxDims];

  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < count; ++i) n *= extent[i];
    return n;
  }
  // Keeps axes sorted by x's stride, the smallest last; an axis that repeats x (stride 0) goes first.
  void insert(int64_t n, int64_t sx, int64_t sm, int64_t sy) {
    if (n == 1) return;
    const auto weight = [](int64_t stride) { return stride == 0 ? INT64_MAX : stride; };
    int at = count++;
    for (; at > 0 && weight(x[at - 1]) < weight(sx); --at) {
      extent[at] = extent[at - 1];
      x[at] = x[at - 1];
      m[at] = m[at - 1];
      y[at] = y[at - 1];
    }
    extent[at] = n;
    x[at] = sx;
    m[at] = sm;
    y[at] = sy;
  }
  void join() {
    int last = 0;
    for (int i = 1; i < count; ++i) {
      const int64_t n = extent[i];
      if (x[last] == x[i] * n && m[last] == m[i] * n && y[last] == y[i] * n)
        extent[last] *= n;
      else
        extent[++last] = n;
      x[last] = x[i];
      m[last] = m[i];
      y[last] = y[i];
    }
    count = count == 0 ? 0 : last + 1;
  }
  // Takes the last axis off.
  Axes outer() const {
    Axes axes = *this;
    --axes.count;
    return axes;
  }
};

struct Offsets {
  int64_t x = 0, m = 0, y = 0;
};

Offsets offsets_of(int64_t index, const Axes& axes) {
  Offsets o;
  for (int i = axes.count - 1; i >= 0; --i) {
    const int64_t at = index % axes.extent[i];
    index /= axes.extent[i];
    o.x += at * axes.x[i];
    o.m += at * axes.m[i];
    o.y += at * axes.y[i];
  }
  return o;
}

template <class R> double combine_lanes(const double* total, int64_t lanes) {
  double sum = R::kInit;
  for (int64_t c = 0; c < lanes; ++c) sum = R::combine(sum, total[c]);
  return sum;
}

template <class D> void write_as(void* y, int64_t offset, double value, Accum accum) {
  D& d = static_cast<D*>(y)[offset];
  d = accum == Accum::set ? detail::convert<D>(value) : D(acc_t<D>(d) + acc_t<D>(value));
}

template <class M, class A> A read_as(const void* m, int64_t offset) {
  return m ? A(static_cast<acc_t<M>>(static_cast<const M*>(m)[offset])) : A(0);
}

template <class R, class S> class Fold {
  using A = acc_t<S>;

 public:
  Fold(const Tensor& x, const Tensor& m, double divisor, Tensor& y, Accum accum)
      : x_(x.data<S>()),
        m_(m.defined() ? m.raw() : nullptr),
        y_(y.mutable_raw()),
        divisor_(divisor),
        accum_(accum) {
    const Strides sy = y.expand(x.shape()).strides();
    const Strides sm = m.defined() ? m.expand(x.shape()).strides() : sy;
    const int lead = x.dim() - y.dim();
    for (int i = 0; i < x.dim(); ++i) {
      const bool kept = i >= lead && y.shape()[i - lead] == x.shape()[i];
      (kept ? kept_ : reduced_).insert(x.shape()[i], x.strides()[i], kept ? sm[i] : 0, kept ? sy[i] : 0);
    }
    kept_.join();
    reduced_.join();
    visit_floating(y.dtype(), "fold", [&]<class D>() { write_ = write_as<D>; });
    visit_floating(m.defined() ? m.dtype() : y.dtype(), "fold", [&]<class M>() { read_m_ = read_as<M, A>; });
  }

  void run() {
    const bool dense_reduced = reduced_.count > 0 && reduced_.x[reduced_.count - 1] == 1;
    const bool dense_kept = kept_.count > 0 && kept_.x[kept_.count - 1] == 1;
    if (dense_kept && !dense_reduced)
      fold_columns();
    else
      fold_each();
  }

 private:
  // A dense kept axis: tasks are chunks of its columns, for each combination of the other kept axes, cut into
  // pieces of rows where there are few outputs.
  void fold_columns() {
    const Axes outer = kept_.outer();
    const int64_t length = kept_.extent[kept_.count - 1], sm = kept_.m[kept_.count - 1],
                  sy = kept_.y[kept_.count - 1];
    const int64_t chunks = (length + kColumns - 1) / kColumns, rows = reduced_.size();
    const int64_t outputs = kept_.size();
    const int64_t pieces = std::clamp(rows * std::min(length, kColumns) / kPieceTerms, int64_t(1),
                                      std::max<int64_t>(1, kPartials / outputs));
    double partials[kPartials];
    const int64_t tasks = outer.size() * chunks * pieces;
    parallel_for(
        tasks, std::max<int64_t>(1, kGrain * tasks / (outputs * rows + 1)), [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t piece = task % pieces, chunk = task / pieces % chunks;
            const int64_t first = chunk * kColumns, columns = std::min(kColumns, length - first);
            const Offsets o = offsets_of(task / pieces / chunks, outer);
            A m[kColumns];
            for (int64_t c = 0; c < columns; ++c) m[c] = read_m_(m_, o.m + (first + c) * sm);
            double own[kColumns];
            double* total =
                pieces == 1 ? own : partials + piece * outputs + task / pieces / chunks * length + first;
            fold_piece(x_ + o.x + first, rows * piece / pieces, rows * (piece + 1) / pieces, columns, m,
                       total);
            if (pieces > 1) continue;
            for (int64_t c = 0; c < columns; ++c) write(o.y + (first + c) * sy, total[c]);
          }
        });
    if (pieces == 1) return;
    for (int64_t j = 0; j < outputs; ++j) {
      double total = R::kInit;
      for (int64_t piece = 0; piece < pieces; ++piece)
        total = R::combine(total, partials[piece * outputs + j]);
      write(offsets_of(j / length, outer).y + j % length * sy, total);
    }
  }

  // Rows [begin, end) of the reduced combinations in `columns` dense columns.
  void fold_piece(const S* x, int64_t begin, int64_t end, int64_t columns, const A* m, double* total) const {
    A acc[kColumns];
    std::fill(acc, acc + columns, A(R::kInit));
    std::fill(total, total + columns, R::kInit);
    const Axes outer = reduced_.count > 0 ? reduced_.outer() : Axes();
    const int64_t run = reduced_.count > 0 ? reduced_.extent[reduced_.count - 1] : 1;
    const int64_t stride = reduced_.count > 0 ? reduced_.x[reduced_.count - 1] : 0;
    int64_t unflushed = 0;
    for (int64_t row = begin; row < end;) {
      const int64_t rows = std::min({end - row, run - row % run, kFlushRows - unflushed});
      const S* at = x + offsets_of(row / run, outer).x + row % run * stride;
      isa_call<fold_rows_body<R, S, A>>(at, stride, rows, columns, m, acc);
      row += rows;
      unflushed += rows;
      if (unflushed < kFlushRows && row < end) continue;
      isa_call<flush_body<R, A>>(acc, total, columns);
      unflushed = 0;
    }
  }

  // Output by output: a dense reduced axis, or none at all.
  void fold_each() {
    const int64_t outputs = kept_.size(), terms = reduced_.size();
    const int64_t pieces = std::clamp(terms / kPieceTerms, int64_t(1),
                                      std::max<int64_t>(1, outputs < kLanes ? kPartials / outputs : 1));
    double partials[kPartials];
    const int64_t tasks = outputs * pieces;
    parallel_for(
        tasks, std::max<int64_t>(1, kGrain * tasks / (outputs * terms + 1)), [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            const int64_t piece = task % pieces;
            const Offsets o = offsets_of(task / pieces, kept_);
            const double total =
                fold_terms(x_ + o.x, terms * piece / pieces, terms * (piece + 1) / pieces, read_m_(m_, o.m));
            if (pieces == 1)
              write(o.y, total);
            else
              partials[task] = total;
          }
        });
    for (int64_t j = 0; j < outputs && pieces > 1; ++j) {
      double total = R::kInit;
      for (int64_t piece = 0; piece < pieces; ++piece)
        total = R::combine(total, partials[j * pieces + piece]);
      write(offsets_of(j, kept_).y, total);
    }
  }

  // Terms [begin, end) of the reduced combinations of one output.
  double fold_terms(const S* x, int64_t begin, int64_t end, A m) const {
    if (reduced_.count == 0) return R::combine(R::kInit, double(R::term(A(acc_t<S>(*x)), m)));
    const Axes outer = reduced_.outer();
    const int64_t run = reduced_.extent[reduced_.count - 1], stride = reduced_.x[reduced_.count - 1];
    double total = R::kInit;
    for (int64_t term = begin; term < end;) {
      const int64_t n = std::min(end - term, run - term % run);
      const S* at = x + offsets_of(term / run, outer).x + term % run * stride;
      total = R::combine(total, stride == 1 ? fold_dense(at, n, m) : fold_strided(at, n, stride, m));
      term += n;
    }
    return total;
  }

  double fold_dense(const S* x, int64_t n, A m) const {
    if (n < kLanes) return fold_strided(x, n, 1, m);
    A acc[kLanes], lanes_of_m[kLanes];
    double total[kLanes];
    std::fill(acc, acc + kLanes, A(R::kInit));
    std::fill(total, total + kLanes, R::kInit);
    std::fill(lanes_of_m, lanes_of_m + kLanes, m);
    for (int64_t done = 0; done < n;) {
      const int64_t rows = std::min((n - done) / kLanes, kFlushRows);
      if (rows > 0) isa_call<fold_rows_body<R, S, A>>(x + done, kLanes, rows, kLanes, lanes_of_m, acc);
      done += rows * kLanes;
      if (rows < kFlushRows) {
        isa_call<fold_rows_body<R, S, A>>(x + done, int64_t(0), int64_t(1), n - done, lanes_of_m, acc);
        done = n;
      }
      isa_call<flush_body<R, A>>(acc, total, kLanes);
    }
    return combine_lanes<R>(total, kLanes);
  }

  static double fold_strided(const S* x, int64_t n, int64_t stride, A m) {
    double total = R::kInit;
    for (int64_t i = 0; i < n; ++i) total = R::combine(total, double(R::term(A(acc_t<S>(x[i * stride])), m)));
    return total;
  }

  void write(int64_t offset, double total) const { write_(y_, offset, total / divisor_, accum_); }

  const S* x_;
  const void* m_;
  A (*read_m_)(const void* m, int64_t offset);
  void* y_;
  void (*write_)(void* y, int64_t offset, double value, Accum accum);
  double divisor_;
  Accum accum_;
  Axes kept_, reduced_;
};

}  // namespace

template <class R> void fold(const Tensor& x, const Tensor& m, double divisor, Tensor& y, Accum accum) {
  if (y.numel() == 0) return;
  visit_floating(x.dtype(), "fold", [&]<class S>() { Fold<R, S>(x, m, divisor, y, accum).run(); });
}

template void fold<SumOf>(const Tensor&, const Tensor&, double, Tensor&, Accum);
template void fold<SumOfSquaredDeviations>(const Tensor&, const Tensor&, double, Tensor&, Accum);
template void fold<CountOfExtremum>(const Tensor&, const Tensor&, double, Tensor&, Accum);
template void fold<MaximumOf>(const Tensor&, const Tensor&, double, Tensor&, Accum);
template void fold<MinimumOf>(const Tensor&, const Tensor&, double, Tensor&, Accum);

}  // namespace tare::kernels::cpu
