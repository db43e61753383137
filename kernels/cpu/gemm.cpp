// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/cpu/gemm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/tile.h"
#include "tare/kernels/functors.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kBlockM = 96, kBlockN = 96, kBlockK = 128;  // of c and of the sum; a block's tiles fit L2
constexpr int64_t kGrain = 16384;                             // elements per thread at least

struct Identity {
  template <class A> TARE_INLINE A forward(A x) const { return x; }
};

// c[n] = f.forward(sum[n] + bias[n])
template <class T, class C, class F>
TARE_INLINE void finish_row(const acc_t<T>* sum, const T* bias, C* c, int64_t N, F f) {
  using A = acc_t<T>;
  if (bias) {
#pragma omp simd
    for (int64_t n = 0; n < N; ++n) c[n] = C(f.forward(sum[n] + A(bias[n])));
  } else {
#pragma omp simd
    for (int64_t n = 0; n < N; ++n) c[n] = C(f.forward(sum[n]));
  }
}

template <class T, class C>
TARE_INLINE void finish_rows(const acc_t<T>* sum, int64_t sum_row, const T* bias, Activation activation, C* c,
                             int64_t c_row, int64_t M, int64_t N) {
  for (int64_t m = 0; m < M; ++m, sum += sum_row, c += c_row) {
    switch (activation) {
      case Activation::none:
        finish_row(sum, bias, c, N, Identity{});
        break;
      case Activation::gelu_tanh:
        finish_row(sum, bias, c, N, math::GeluTanh{});
        break;
      case Activation::gelu_erf:
        finish_row(sum, bias, c, N, math::GeluErf{});
        break;
      case Activation::relu:
        finish_row(sum, bias, c, N, math::Relu{});
        break;
    }
  }
}

// One block of c, (rows, cols) at (m, n): tiles of a and b are brought into cache, converted and zero-padded.
template <class T, class C> struct GemmBlock {
  template <Isa I> static TARE_INLINE void run(Gemm<T, C> g, int64_t m, int64_t n) {
    using A = acc_t<T>;
    alignas(64) A a[kBlockM * kBlockK];
    alignas(64) A b[kBlockK * kBlockN];
    alignas(64) A c[kBlockM * kBlockN];
    const int64_t rows = std::min(kBlockM, g.M - m), cols = std::min(kBlockN, g.N - n);
    C* out = g.c + m * g.c_row + n;
    const int64_t width = tile_width<A>(cols);
    if (g.accum == Accum::add)
      load_tile(TileSource{out, g.c_row, 1}, rows, cols, c, kBlockN);
    else
      std::fill_n(c, rows * kBlockN, A(0));
    for (int64_t k = 0; k < g.K; k += kBlockK) {
      const int64_t depth = std::min(kBlockK, g.K - k);
      load_tile(TileSource{g.a + m * g.a_row + k * g.a_col, g.a_row, g.a_col}, rows, depth, a, kBlockK);
      load_tile(TileSource{g.b + k * g.b_row + n * g.b_col, g.b_row, g.b_col}, depth, cols, b, kBlockN);
      tile_gemm<A, I>({a, kBlockK, 1, b, kBlockN, c, kBlockN, rows, width, depth, true});
    }
    finish_rows(c, kBlockN, g.bias ? g.bias + n : nullptr, g.activation, out, g.c_row, rows, cols);
  }
};

template <class T, class C> void gemm_tiled(const Gemm<T, C>& g) {
  const int64_t blocks_m = (g.M + kBlockM - 1) / kBlockM, blocks_n = (g.N + kBlockN - 1) / kBlockN;
  parallel_for(blocks_m * blocks_n, kGrain * 32 / (kBlockM * kBlockN * (g.K + 1)) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   isa_call_with<GemmBlock<T, C>>(g, i / blocks_n * kBlockM, i % blocks_n * kBlockN);
               });
}

template <class T>
TARE_INLINE void finish_in_place(T* c, int64_t c_row, int64_t M, int64_t N, const T* bias,
                                 Activation activation) {
  finish_rows(c, c_row, bias, activation, c, c_row, M, N);
}

}  // namespace

template <class T>
void add_bias_and_activate(T* c, int64_t c_row, int64_t M, int64_t N, const T* bias, Activation activation) {
  static_assert(std::is_same_v<T, acc_t<T>>, "half types are finished before they are rounded");
  if (!bias && activation == Activation::none) return;
  parallel_for(M, kGrain / N + 1, [&](int64_t begin, int64_t end) {
    isa_call<finish_in_place<T>>(c + begin * c_row, c_row, end - begin, N, bias, activation);
  });
}

template <class T, class C> void gemm(const Gemm<T, C>& g) {
  if (g.M == 0 || g.N == 0) return;
  if (g.c_col != 1 && g.N != 1) {  // c^T = b^T a^T has dense rows
    TARE_ASSERT((g.c_row == 1 || g.M == 1) && !g.bias && g.activation == Activation::none);
    return gemm<T, C>(
        {g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, g.c, g.c_col, 1, g.N, g.M, g.K, g.accum});
  }
  if constexpr (std::is_same_v<T, float> && std::is_same_v<C, float>) {
    if (gemm_onednn(g)) return add_bias_and_activate(g.c, g.c_row, g.M, g.N, g.bias, g.activation);
  }
  gemm_tiled(g);
}

template void gemm(const Gemm<double>& g);
template void gemm(const Gemm<float>& g);
template void gemm(const Gemm<f16>& g);
template void gemm(const Gemm<f16, float>& g);
template void gemm(const Gemm<bf16>& g);
template void gemm(const Gemm<bf16, float>& g);

}  // namespace tare::kernels::cpu
