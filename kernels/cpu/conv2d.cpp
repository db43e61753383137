// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/conv2d.h"

#include <algorithm>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/gemm.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

int64_t grain_of(int64_t elements_each) { return kGrain / (elements_each + 1) + 1; }

// Output positions [first, first + count) of one image.
struct Piece {
  int64_t first, count;
};

// n positions of one row of the output whose inputs lie side by side, `step` apart: position `at` of the
// piece meets element `from` of the plane.
struct Run {
  int64_t at, from, n, step;
};

// Calls inside(run) for the positions of a piece where element (kh, kw) of the kernel meets the plane, and
// outside(at, n) where it meets padding.
template <class Inside, class Outside>
TARE_INLINE void walk_piece(const Conv2dSizes& s, int64_t kh, int64_t kw, Piece piece, Inside inside,
                            Outside outside) {
  const auto& [stride, padding, dilation] = s.options;
  const int64_t shift = kw * dilation.w - padding.w;  // input column of output column 0
  const int64_t low = std::min(s.OW, shift < 0 ? (-shift + stride.w - 1) / stride.w : 0);
  const int64_t high = std::clamp((s.W - shift + stride.w - 1) / stride.w, low, s.OW);
  for (int64_t at = 0; at < piece.count;) {
    const int64_t row = (piece.first + at) / s.OW, begin = (piece.first + at) % s.OW;
    const int64_t end = std::min(s.OW, begin + piece.count - at);
    const int64_t from_row = row * stride.h + kh * dilation.h - padding.h;
    const bool meets = from_row >= 0 && from_row < s.H;
    const int64_t a = meets ? std::clamp(low, begin, end) : end, b = meets ? std::clamp(high, a, end) : end;
    if (a > begin) outside(at, a - begin);
    if (b > a) inside(Run{at + a - begin, from_row * s.W + a * stride.w + shift, b - a, stride.w});
    if (end > b) outside(at + b - begin, end - b);
    at += end - begin;
  }
}

template <class T> struct Gather {
  const T* plane;
  T* row;
  TARE_INLINE void operator()(Run r) const {
    if (r.step == 1)
      std::copy_n(plane + r.from, r.n, row + r.at);
    else
      for (int64_t i = 0; i < r.n; ++i) row[r.at + i] = plane[r.from + i * r.step];
  }
  TARE_INLINE void operator()(int64_t at, int64_t n) const { std::fill_n(row + at, n, T(0)); }
};

template <class A> struct Scatter {
  const A* row;
  A* plane;
  TARE_INLINE void operator()(Run r) const {
    if (r.step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < r.n; ++i) plane[r.from + i] += row[r.at + i];
    } else {
      for (int64_t i = 0; i < r.n; ++i) plane[r.from + i * r.step] += row[r.at + i];
    }
  }
  TARE_INLINE void operator()(int64_t, int64_t) const {}
};

// columns (depth, piece.count) of the image x (C, H, W): one row per element of a kernel.
template <class T> void gather(const T* x, const Conv2dSizes& s, Piece piece, T* columns) {
  parallel_for(s.depth(), grain_of(piece.count), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const Gather<T> f{x + k / (s.KH * s.KW) * s.H * s.W, columns + k * piece.count};
      walk_piece(s, k / s.KW % s.KH, k % s.KW, piece, f, f);
    }
  });
}

// plane (H, W) += the columns of one channel, in the order of the kernel's elements.
template <class A>
TARE_INLINE void scatter_channel(const A* columns, const Conv2dSizes* s, Piece piece, A* plane) {
  for (int64_t k = 0; k < s->KH * s->KW; ++k) {
    const Scatter<A> f{columns + k * piece.count, plane};
    walk_piece(*s, k / s->KW, k % s->KW, piece, f, f);
  }
}

template <class A> void scatter(const A* columns, const Conv2dSizes& s, Piece piece, A* image) {
  const int64_t elements = s.KH * s.KW;
  parallel_for(s.C, grain_of(elements * piece.count), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      isa_call<scatter_channel<A>>(columns + c * elements * piece.count, &s, piece, image + c * s.H * s.W);
  });
}

template <class A, class D> TARE_INLINE void finish_body(const A* sum, D* out, int64_t n, bool add) {
  if (add) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = D(A(out[i]) + sum[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = D(sum[i]);
  }
}

// out = or += sum, rounded once.
template <class A, class D> void finish(const A* sum, D* out, int64_t n, Accum accum) {
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    isa_call<finish_body<A, D>>(sum + begin, out + begin, end - begin, accum == Accum::add);
  });
}

// f(piece) for the pieces of an image's positions, in order.
template <class F> void for_pieces(const Conv2dSizes& s, F&& f) {
  for (int64_t first = 0; first < s.positions(); first += s.piece())
    f(Piece{first, std::min(s.piece(), s.positions() - first)});
}

// The part of a scratch behind columns of type T.
template <class A, class T> A* behind_columns(Tensor& scratch, const Conv2dSizes& s) {
  const int64_t bytes = s.depth() * s.piece() * int64_t(sizeof(T));
  return reinterpret_cast<A*>(scratch.mutable_data<uint8_t>() + (bytes + 63) / 64 * 64);
}

template <class T> T* columns_in(Tensor& scratch) {
  return reinterpret_cast<T*>(scratch.mutable_data<uint8_t>());
}

template <class T>
void forward_typed(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dSizes& s,
                   Tensor& scratch, Tensor& y) {
  const T* px = x.data<T>();
  const T* pw = w.data<T>();
  T* py = y.mutable_data<T>();
  T* columns = columns_in<T>(scratch);
  const int64_t L = s.positions(), K = s.depth();
  if (bias.defined()) {
    const T* pb = bias.data<T>();
    parallel_for(s.B * s.O, grain_of(L), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::fill_n(py + i * L, L, pb[i % s.O]);
    });
  }
  for (int64_t b = 0; b < s.B; ++b, px += s.C * s.H * s.W, py += s.O * L) {
    for_pieces(s, [&](Piece piece) {
      gather(px, s, piece, columns);
      gemm<T, T>({.a = pw,
                  .a_row = K,
                  .a_col = 1,
                  .b = columns,
                  .b_row = piece.count,
                  .b_col = 1,
                  .c = py + piece.first,
                  .c_row = L,
                  .c_col = 1,
                  .M = s.O,
                  .N = piece.count,
                  .K = K,
                  .accum = bias.defined() ? Accum::add : Accum::set});
    });
  }
}

template <class T, class D>
void backward_input_typed(const Tensor& dy, const Tensor& w, const Conv2dSizes& s, Tensor& scratch,
                          Tensor& dx, Accum accum) {
  using A = acc_t<T>;
  const T* pdy = dy.data<T>();
  const T* pw = w.data<T>();
  D* pdx = dx.mutable_data<D>();
  A* columns = columns_in<A>(scratch);
  A* image = behind_columns<A, A>(scratch, s);
  const int64_t L = s.positions(), K = s.depth(), size = s.C * s.H * s.W;
  for (int64_t b = 0; b < s.B; ++b, pdy += s.O * L, pdx += size) {
    std::fill_n(image, size, A(0));
    for_pieces(s, [&](Piece piece) {
      gemm<T, A>({.a = pw,
                  .a_row = 1,
                  .a_col = K,
                  .b = pdy + piece.first,
                  .b_row = L,
                  .b_col = 1,
                  .c = columns,
                  .c_row = piece.count,
                  .c_col = 1,
                  .M = K,
                  .N = piece.count,
                  .K = s.O});
      scatter(columns, s, piece, image);
    });
    finish(image, pdx, size, accum);
  }
}

template <class T, class D>
void backward_weight_typed(const Tensor& dy, const Tensor& x, const Conv2dSizes& s, Tensor& scratch,
                           Tensor& dw, Accum accum) {
  using A = acc_t<T>;
  const T* pdy = dy.data<T>();
  const T* px = x.data<T>();
  T* columns = columns_in<T>(scratch);
  A* sum = behind_columns<A, T>(scratch, s);
  const int64_t L = s.positions(), K = s.depth();
  std::fill_n(sum, s.O * K, A(0));
  for (int64_t b = 0; b < s.B; ++b, pdy += s.O * L, px += s.C * s.H * s.W) {
    for_pieces(s, [&](Piece piece) {
      gather(px, s, piece, columns);
      gemm<T, A>({.a = pdy + piece.first,
                  .a_row = L,
                  .a_col = 1,
                  .b = columns,
                  .b_row = 1,
                  .b_col = piece.count,
                  .c = sum,
                  .c_row = K,
                  .c_col = 1,
                  .M = s.O,
                  .N = K,
                  .K = piece.count,
                  .accum = Accum::add});
    });
  }
  finish(sum, dw.mutable_data<D>(), s.O * K, accum);
}

// f<T, D>() for operands of type T and a gradient of type D: T or its sums' type.
template <class F> void visit_gradient(const char* op, const Tensor& operand, const Tensor& gradient, F&& f) {
  visit_floating(operand.dtype(), op, [&]<class T>() {
    if (gradient.dtype() == operand.dtype())
      f.template operator()<T, T>();
    else
      f.template operator()<T, acc_t<T>>();
  });
}

}  // namespace

void conv2d_forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dSizes& s,
                    Tensor& scratch, Tensor& y) {
  if (y.numel() == 0) return;
  visit_floating(x.dtype(), "conv2d_forward",
                 [&]<class T>() { forward_typed<T>(x, w, bias, s, scratch, y); });
}

void conv2d_backward_input(const Tensor& dy, const Tensor& w, const Conv2dSizes& s, Tensor& scratch,
                           Tensor& dx, Accum accum) {
  if (dx.numel() == 0) return;
  visit_gradient("conv2d_backward_input", dy, dx,
                 [&]<class T, class D>() { backward_input_typed<T, D>(dy, w, s, scratch, dx, accum); });
}

void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const Conv2dSizes& s, Tensor& scratch,
                            Tensor& dw, Accum accum) {
  visit_gradient("conv2d_backward_weight", dy, dw,
                 [&]<class T, class D>() { backward_weight_typed<T, D>(dy, x, s, scratch, dw, accum); });
}

}  // namespace tare::kernels::cpu
