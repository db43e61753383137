// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/math.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements per thread at least
constexpr int64_t kPiece = 1024;  // terms whose sum stays in f32

// What the target adds: (1 - smoothing) at the label, smoothing / V everywhere.
struct Smoothing {
  double at_label, everywhere;
  Smoothing(const CrossEntropyOptions& options, int64_t V)
      : at_label(1 - options.label_smoothing), everywhere(options.label_smoothing / double(V)) {}
};

struct RowRange {
  int64_t rows, V;
  CrossEntropyOptions options;
};

template <class A> struct RowSums {
  A max;
  double exps;    // sum of exp(x - max)
  double logits;  // sum of x
};

// Also exps_out[v] = exp(x[v] - max), unless E is void; exps_out may be x.
template <class E = void, class T>
TARE_INLINE RowSums<acc_t<T>> row_sums(const T* x, int64_t V, [[maybe_unused]] E* exps_out = nullptr) {
  using A = acc_t<T>;
  A max = -std::numeric_limits<A>::infinity();
#pragma omp simd reduction(max : max)
  for (int64_t v = 0; v < V; ++v) max = A(x[v]) > max ? A(x[v]) : max;
  double exps = 0, logits = 0;
  for (int64_t begin = 0; begin < V; begin += kPiece) {
    const int64_t end = std::min(V, begin + kPiece);
    A e = 0, l = 0;
#pragma omp simd reduction(+ : e, l)
    for (int64_t v = begin; v < end; ++v) {
      const A term = math::exp(A(x[v]) - max);
      e += term;
      l += A(x[v]);
      if constexpr (!std::is_void_v<E>) exps_out[v] = term;
    }
    exps += double(e);
    logits += double(l);
  }
  return {max, exps, logits};
}

// sum_v target_v (lse - x_v)
TARE_INLINE double row_loss(double lse, double at_label, double sum, int64_t V, const Smoothing& target) {
  const double sharp = target.at_label == 0 ? 0 : target.at_label * (lse - at_label);
  return target.everywhere == 0 ? sharp : sharp + target.everywhere * (double(V) * lse - sum);
}

// dx[v] = or += scale * (exp(x[v] - lse) - target_v); dx may be x.
template <class T, class D>
TARE_INLINE void row_gradient(const T* x, int64_t label, acc_t<T> lse, double scale, const Smoothing& target,
                              D* dx, int64_t V, Accum accum) {
  using A = acc_t<T>;
  const A factor = A(scale), everywhere = A(target.everywhere);
  const A old = accum == Accum::add ? A(acc_t<D>(dx[label])) : A(0);
  const A at_label = math::exp(A(x[label]) - lse) - A(target.at_label + target.everywhere);
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t v = 0; v < V; ++v) dx[v] = D(acc_t<D>(factor * (math::exp(A(x[v]) - lse) - everywhere)));
  } else {
#pragma omp simd
    for (int64_t v = 0; v < V; ++v)
      dx[v] = D(acc_t<D>(A(acc_t<D>(dx[v])) + factor * (math::exp(A(x[v]) - lse) - everywhere)));
  }
  dx[label] = D(acc_t<D>(old + factor * at_label));
}

// The same in the place of exp(x - max), whose sum is 1 / inverse: no second exponential.
template <class A>
TARE_INLINE void row_gradient_of_exps(A* dx, int64_t label, A inverse, double scale, const Smoothing& target,
                                      int64_t V) {
  const A factor = A(scale), everywhere = A(target.everywhere);
  const A at_label = dx[label] * inverse - A(target.at_label + target.everywhere);
#pragma omp simd
  for (int64_t v = 0; v < V; ++v) dx[v] = factor * (dx[v] * inverse - everywhere);
  dx[label] = factor * at_label;
}

template <class D> TARE_INLINE void ignored_row(D* dx, int64_t V, Accum accum) {
  if (accum == Accum::set) std::fill_n(dx, V, D(0.0f));
}

template <class T>
TARE_INLINE void forward_rows(const T* x, const int64_t* label, acc_t<T>* loss, acc_t<T>* lse, int64_t rows,
                              int64_t V, CrossEntropyOptions options) {
  using A = acc_t<T>;
  const Smoothing target(options, V);
  for (int64_t r = 0; r < rows; ++r, x += V) {
    const RowSums<A> s = row_sums(x, V);
    const double log_sum = double(s.max) + std::log(s.exps);
    const bool ignored = label[r] == options.ignore_index;
    loss[r] = ignored ? A(0) : A(row_loss(log_sum, double(A(x[label[r]])), s.logits, V, target));
    if (lse) lse[r] = A(log_sum);
  }
}

template <class T>
TARE_INLINE void backward_rows(const T* x, const int64_t* label, const acc_t<T>* lse, acc_t<T> dsum, T* dx,
                               RowRange range, Accum accum) {
  const auto [rows, V, options] = range;
  const Smoothing target(options, V);
  for (int64_t r = 0; r < rows; ++r, x += V, dx += V) {
    if (label[r] == options.ignore_index)
      ignored_row(dx, V, accum);
    else
      row_gradient(x, label[r], lse[r], double(dsum), target, dx, V, accum);
  }
}

template <class T, class D>
TARE_INLINE void forward_backward_rows(const T* x, const int64_t* label, double scale, acc_t<T>* loss, D* dx,
                                       int64_t rows, int64_t V, CrossEntropyOptions options) {
  using A = acc_t<T>;
  const Smoothing target(options, V);
  for (int64_t r = 0; r < rows; ++r, x += V, dx += V) {
    if (label[r] == options.ignore_index) {
      loss[r] = 0;
      ignored_row(dx, V, Accum::set);
      continue;
    }
    constexpr bool kWide = std::is_same_v<D, A>;  // exponentials are not rounded to half types
    const double at_label = double(A(x[label[r]]));
    RowSums<A> s;
    if constexpr (kWide)
      s = row_sums(x, V, dx);
    else
      s = row_sums(x, V);
    const double lse = double(s.max) + std::log(s.exps);
    loss[r] = A(row_loss(lse, at_label, s.logits, V, target));
    if constexpr (kWide)
      row_gradient_of_exps(dx, label[r], A(1 / s.exps), scale, target, V);
    else
      row_gradient(x, label[r], A(lse), scale, target, dx, V, Accum::set);
  }
}

}  // namespace

void cross_entropy_forward(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options,
                           Tensor& loss, Tensor& lse) {
  const int64_t N = logits.size(0), V = logits.size(1);
  visit_floating(logits.dtype(), "cross_entropy_forward", [&]<class T>() {
    using A = acc_t<T>;
    const T* x = logits.data<T>();
    const int64_t* label = targets.data<int64_t>();
    A* ploss = loss.mutable_data<A>();
    A* plse = lse.defined() ? lse.mutable_data<A>() : nullptr;
    parallel_for(N, kGrain / (V + 1) + 1, [&](int64_t begin, int64_t end) {
      isa_call<forward_rows<T>>(x + begin * V, label + begin, ploss + begin, plse ? plse + begin : nullptr,
                                end - begin, V, options);
    });
  });
}

void cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                            const Tensor& dsum, const CrossEntropyOptions& options, Tensor& dlogits,
                            Accum accum) {
  const int64_t N = logits.size(0), V = logits.size(1);
  visit_floating(logits.dtype(), "cross_entropy_backward", [&]<class T>() {
    using A = acc_t<T>;
    const T* x = logits.data<T>();
    const int64_t* label = targets.data<int64_t>();
    const A* plse = lse.data<A>();
    const A factor = *dsum.data<A>();
    T* dx = dlogits.mutable_data<T>();
    parallel_for(N, kGrain / (V + 1) + 1, [&](int64_t begin, int64_t end) {
      isa_call<backward_rows<T>>(x + begin * V, label + begin, plse + begin, factor, dx + begin * V,
                                 RowRange{end - begin, V, options}, accum);
    });
  });
}

void cross_entropy_forward_backward(const Tensor& logits, const Tensor& targets, double scale,
                                    const CrossEntropyOptions& options, Tensor& loss, Tensor& dlogits) {
  const int64_t N = logits.size(0), V = logits.size(1);
  const auto run = [&]<class T, class D>() {
    using A = acc_t<T>;
    const T* x = logits.data<T>();
    const int64_t* label = targets.data<int64_t>();
    A* ploss = loss.mutable_data<A>();
    D* dx = dlogits.mutable_data<D>();
    parallel_for(N, kGrain / (V + 1) + 1, [&](int64_t begin, int64_t end) {
      isa_call<forward_backward_rows<T, D>>(x + begin * V, label + begin, scale, ploss + begin,
                                            dx + begin * V, end - begin, V, options);
    });
  };
  visit_floating(logits.dtype(), "cross_entropy_forward_backward", [&]<class T>() {
    visit_floating(dlogits.dtype(), "cross_entropy_forward_backward",
                   [&]<class D>() { run.template operator()<T, D>(); });
  });
}

}  // namespace tare::kernels::cpu
