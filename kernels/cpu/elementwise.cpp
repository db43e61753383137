// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/elementwise.h"

#include "tare/core/isa.h"
#include "tare/kernels/cpu/blocks.h"

namespace tare::kernels::cpu {
namespace {

template <class F, class A> TARE_INLINE void unary_forward_body(const A* x, A* y, int64_t n, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = f.forward(x[i]);
}

template <class F, class A>
TARE_INLINE void unary_backward_body(const A* x, const A* y, const A* dy, A* dx, int64_t n, Accum accum,
                                     F f) {
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = f.backward(x[i], y[i], dy[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] += f.backward(x[i], y[i], dy[i]);
  }
}

}  // namespace

template <class F> void unary_forward(const Tensor& x, Tensor& y, F f) {
  if (y.numel() == 0) return;
  visit_floating_compute_type({x.dtype(), y.dtype()}, [&]<class A>() {
    const BlockReader<A> in(x, y.shape());
    const BlockWriter<A> out(y, Accum::set);
    for_blocks(y.numel(), in.is_direct() && out.is_direct(), [&](int64_t begin, int64_t count) {
      A x_buffer[kBlock], y_buffer[kBlock];
      const A* px = in.read(begin, count, x_buffer);
      A* py = out.at(begin, y_buffer);
      isa_call<unary_forward_body<F, A>>(px, py, count, f);
      out.commit(begin, count, py);
    });
  });
}

template <class F>
void unary_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum, F f) {
  if (dx.numel() == 0) return;
  // One tensor is saved at most; where the functor does not read it, dy stands in.
  const Tensor& saved = F::kNeeds == math::Needs::x ? x : F::kNeeds == math::Needs::y ? y : dy;
  visit_floating_compute_type({saved.dtype(), dy.dtype()}, [&]<class A>() {
    const BlockReader<A> in(saved, dx.shape()), in_dy(dy, dx.shape());
    const BlockWriter<A> out(dx, accum);
    const bool direct = in.is_direct() && in_dy.is_direct() && out.is_direct();
    for_blocks(dx.numel(), direct, [&](int64_t begin, int64_t count) {
      A buffer[kBlock], dy_buffer[kBlock], dx_buffer[kBlock];
      const A* pdy = in_dy.read(begin, count, dy_buffer);
      const A* p = F::kNeeds == math::Needs::nothing ? pdy : in.read(begin, count, buffer);
      A* pdx = out.at(begin, dx_buffer);
      isa_call<unary_backward_body<F, A>>(p, p, pdy, pdx, count, out.accum(), f);
      out.commit(begin, count, pdx);
    });
  });
}

#define TARE_INSTANTIATE(F)                                                                             \
  template void unary_forward<math::F>(const Tensor& x, Tensor& y, math::F f);                          \
  template void unary_backward<math::F>(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx, \
                                        Accum accum, math::F f);
TARE_UNARY_OPS(TARE_INSTANTIATE)
#undef TARE_INSTANTIATE

}  // namespace tare::kernels::cpu
