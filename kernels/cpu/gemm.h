// SPDX-License-Identifier: Apache-2.0
// One matrix product on the CPU: oneDNN for f32 where it is built in, own tiles for every other dtype and
// build. Private to the CPU twins.
#pragma once

#include <cstdint>

#include "tare/kernels/accum.h"
#include "tare/kernels/linear.h"

namespace tare::kernels::cpu {

// c (M, N) = or += a (M, K) b (K, N), then activation(c + bias) where they are given (accum set only).
// Strides in elements; any for the operands, and one of c's is 1. C is T, or float for half types.
template <class T, class C = T> struct Gemm {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  C* c;
  int64_t c_row, c_col;
  int64_t M, N, K;
  Accum accum = Accum::set;
  const T* bias = nullptr;  // (N); c_col must then be 1
  Activation activation = Activation::none;
};

// Threaded over fixed blocks of c, or by oneDNN itself. Half types are multiplied and summed in f32 and
// rounded once.
template <class T, class C> void gemm(const Gemm<T, C>& g);

// f32 by oneDNN; false when the build has none or a layout is not one that it takes.
bool gemm_onednn(const Gemm<float>& g);

// c (M, N) = activation(c + bias), rows c_row apart; bias may be null.
template <class T>
void add_bias_and_activate(T* c, int64_t c_row, int64_t M, int64_t N, const T* bias, Activation activation);

}  // namespace tare::kernels::cpu
