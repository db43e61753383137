// SPDX-License-Identifier: Apache-2.0
// What the loops of LayerNorm and RMSNorm share.
#pragma once

#include <type_traits>

#include "tare/core/isa.h"
#include "tare/core/tensor.h"
#include "tare/kernels/accum.h"
#include "tare/kernels/row_pieces.h"

namespace tare::kernels::cpu {

// Terms of row sums.
template <class T> struct Value {
  const T* x;
  TARE_INLINE acc_t<T> operator()(int64_t c) const { return acc_t<T>(x[c]); }
};

template <class T> struct Square {
  const T* x;
  TARE_INLINE acc_t<T> operator()(int64_t c) const { return acc_t<T>(x[c]) * acc_t<T>(x[c]); }
};

template <class T, class W> struct Product {
  const T* dy;
  const W* gamma;
  TARE_INLINE acc_t<T> operator()(int64_t c) const { return acc_t<T>(dy[c]) * acc_t<T>(gamma[c]); }
};

template <class T, class W> struct ProductTimesDistance {
  const T* dy;
  const W* gamma;
  const T* x;
  acc_t<T> mean;
  TARE_INLINE acc_t<T> operator()(int64_t c) const {
    return acc_t<T>(dy[c]) * acc_t<T>(gamma[c]) * (acc_t<T>(x[c]) - mean);
  }
};

template <class A> TARE_INLINE void zero_row(A* row, int64_t cols) {
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c) row[c] = 0;
}

// f.template operator()<T, W>() for the types of x and of the weights: T or the type of T's sums.
template <class F> void visit_norm(const char* op, DType x, DType weight, F&& f) {
  visit_floating(x, op, [&]<class T>() {
    if (weight == x)
      f.template operator()<T, T>();
    else
      f.template operator()<T, acc_t<T>>();
  });
}

// gradient[c] = or += the sum of sums[piece, c] over the pieces, in their order. Overwrites the first piece.
template <class A, class G>
TARE_INLINE void add_pieces_body(A* sums, int64_t pieces, G* gradient, int64_t cols, Accum accum) {
  for (int64_t piece = 1; piece < pieces; ++piece) {
    const A* row = sums + piece * cols;
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) sums[c] += row[c];
  }
  for (int64_t c = 0; c < cols; ++c) {
    const A sum = pieces > 0 ? sums[c] : A(0);
    gradient[c] = accum == Accum::set ? G(sum) : G(A(gradient[c]) + sum);
  }
}

// The same for a gradient tensor; nothing for null.
template <class A> void add_pieces(A* sums, int64_t pieces, Tensor* gradient, Accum accum) {
  if (!gradient) return;
  const int64_t cols = gradient->numel();
  if (gradient->dtype() == dtype_of<A>)
    return isa_call<add_pieces_body<A, A>>(sums, pieces, gradient->mutable_data<A>(), cols, accum);
  if constexpr (std::is_same_v<A, float>) {
    if (gradient->dtype() == DType::bf16)
      return isa_call<add_pieces_body<A, bf16>>(sums, pieces, gradient->mutable_data<bf16>(), cols, accum);
    if (gradient->dtype() == DType::f16)
      return isa_call<add_pieces_body<A, f16>>(sums, pieces, gradient->mutable_data<f16>(), cols, accum);
  }
  TARE_UNREACHABLE();
}

}  // namespace tare::kernels::cpu
