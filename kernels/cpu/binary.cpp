// SPDX-License-Identifier: Apache-2.0
// The binary part of kernels/elementwise.h: arithmetic on two operands, comparisons, where.
#include "tare/core/isa.h"
#include "tare/kernels/cpu/blocks.h"
#include "tare/kernels/elementwise.h"

namespace tare::kernels::cpu {
namespace {

template <class F, class A, class R> TARE_INLINE void binary_body(const A* a, const A* b, R* y, int64_t n) {
  const F f;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = R(f.forward(a[i], b[i]));
}

template <class F, Side side, class A>
TARE_INLINE void binary_backward_body(const A* a, const A* b, const A* dy, A* dx, int64_t n, Accum accum) {
  const F f;
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      dx[i] = side == Side::a ? f.backward_a(a[i], b[i], dy[i]) : f.backward_b(a[i], b[i], dy[i]);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      dx[i] += side == Side::a ? f.backward_a(a[i], b[i], dy[i]) : f.backward_b(a[i], b[i], dy[i]);
  }
}

template <class A> TARE_INLINE void where_body(const uint8_t* mask, const A* a, const A* b, A* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = mask[i] ? a[i] : b[i];
}

template <class A>
TARE_INLINE void where_backward_body(const uint8_t* mask, uint8_t on, const A* dy, A* dx, int64_t n,
                                     Accum accum) {
  if (accum == Accum::set) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = (mask[i] != 0) == on ? dy[i] : A(0);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] += (mask[i] != 0) == on ? dy[i] : A(0);
  }
}

// y = f(a, b) with operands as A and results as R.
template <class F, class A, class R> void binary_as(const Tensor& a, const Tensor& b, Tensor& y) {
  const BlockReader<A> in_a(a, y.shape()), in_b(b, y.shape());
  const BlockWriter<R> out(y, Accum::set);
  const bool direct = in_a.is_direct() && in_b.is_direct() && out.is_direct();
  for_blocks(y.numel(), direct, [&](int64_t begin, int64_t count) {
    A a_buffer[kBlock], b_buffer[kBlock];
    R y_buffer[kBlock];
    const A* pa = in_a.read(begin, count, a_buffer);
    const A* pb = in_b.read(begin, count, b_buffer);
    R* py = out.at(begin, y_buffer);
    isa_call<binary_body<F, A, R>>(pa, pb, py, count);
    out.commit(begin, count, py);
  });
}

template <class F, Side side>
void binary_backward_side(const Tensor& a, const Tensor& b, const Tensor& dy, Tensor& dx, Accum accum) {
  constexpr math::Reads reads = side == Side::a ? F::kANeeds : F::kBNeeds;
  const Tensor& left = reads.a ? a : dy;  // dy stands in for what is not read
  const Tensor& right = reads.b ? b : dy;
  visit_floating_compute_type({left.dtype(), right.dtype(), dy.dtype()}, [&]<class A>() {
    const BlockReader<A> in_a(left, dx.shape()), in_b(right, dx.shape()), in_dy(dy, dx.shape());
    const BlockWriter<A> out(dx, accum);
    const bool direct = in_a.is_direct() && in_b.is_direct() && in_dy.is_direct() && out.is_direct();
    for_blocks(dx.numel(), direct, [&](int64_t begin, int64_t count) {
      A a_buffer[kBlock], b_buffer[kBlock], dy_buffer[kBlock], dx_buffer[kBlock];
      const A* pdy = in_dy.read(begin, count, dy_buffer);
      const A* pa = reads.a ? in_a.read(begin, count, a_buffer) : pdy;
      const A* pb = reads.b ? in_b.read(begin, count, b_buffer) : pdy;
      A* pdx = out.at(begin, dx_buffer);
      isa_call<binary_backward_body<F, side, A>>(pa, pb, pdy, pdx, count, out.accum());
      out.commit(begin, count, pdx);
    });
  });
}

}  // namespace

template <class F> void binary_forward(const Tensor& a, const Tensor& b, Tensor& y) {
  if (y.numel() == 0) return;
  const auto run = [&]<class A>() { binary_as<F, A, A>(a, b, y); };
  if constexpr (math::kOnIntegers<F>)
    visit_compute_type({a.dtype(), b.dtype(), y.dtype()}, run);
  else
    visit_floating_compute_type({a.dtype(), b.dtype(), y.dtype()}, run);
}

template <class F>
void binary_backward(Side side, const Tensor& a, const Tensor& b, const Tensor& dy, Tensor& dx, Accum accum) {
  if (dx.numel() == 0) return;
  switch (side) {
    case Side::a:
      return binary_backward_side<F, Side::a>(a, b, dy, dx, accum);
    case Side::b:
      return binary_backward_side<F, Side::b>(a, b, dy, dx, accum);
  }
}

template <class F> void compare(const Tensor& a, const Tensor& b, Tensor& y) {
  if (y.numel() == 0) return;
  visit_compute_type({a.dtype(), b.dtype()}, [&]<class A>() { binary_as<F, A, uint8_t>(a, b, y); });
}

void where_forward(const Tensor& mask, const Tensor& a, const Tensor& b, Tensor& y) {
  if (y.numel() == 0) return;
  visit_compute_type({a.dtype(), b.dtype(), y.dtype()}, [&]<class A>() {
    const BlockReader<uint8_t> in_mask(mask, y.shape());
    const BlockReader<A> in_a(a, y.shape()), in_b(b, y.shape());
    const BlockWriter<A> out(y, Accum::set);
    const bool direct = in_mask.is_direct() && in_a.is_direct() && in_b.is_direct() && out.is_direct();
    for_blocks(y.numel(), direct, [&](int64_t begin, int64_t count) {
      uint8_t mask_buffer[kBlock];
      A a_buffer[kBlock], b_buffer[kBlock], y_buffer[kBlock];
      const uint8_t* pmask = in_mask.read(begin, count, mask_buffer);
      const A* pa = in_a.read(begin, count, a_buffer);
      const A* pb = in_b.read(begin, count, b_buffer);
      A* py = out.at(begin, y_buffer);
      isa_call<where_body<A>>(pmask, pa, pb, py, count);
      out.commit(begin, count, py);
    });
  });
}

void where_backward(const Tensor& mask, bool on, const Tensor& dy, Tensor& dx, Accum accum) {
  if (dx.numel() == 0) return;
  visit_floating_compute_type({dy.dtype()}, [&]<class A>() {
    const BlockReader<uint8_t> in_mask(mask, dx.shape());
    const BlockReader<A> in_dy(dy, dx.shape());
    const BlockWriter<A> out(dx, accum);
    const bool direct = in_mask.is_direct() && in_dy.is_direct() && out.is_direct();
    for_blocks(dx.numel(), direct, [&](int64_t begin, int64_t count) {
      uint8_t mask_buffer[kBlock];
      A dy_buffer[kBlock], dx_buffer[kBlock];
      const uint8_t* pmask = in_mask.read(begin, count, mask_buffer);
      const A* pdy = in_dy.read(begin, count, dy_buffer);
      A* pdx = out.at(begin, dx_buffer);
      isa_call<where_backward_body<A>>(pmask, uint8_t(on), pdy, pdx, count, out.accum());
      out.commit(begin, count, pdx);
    });
  });
}

#define TARE_INSTANTIATE(F)                                                                             \
  template void binary_forward<math::F>(const Tensor& a, const Tensor& b, Tensor& y);                   \
  template void binary_backward<math::F>(Side side, const Tensor& a, const Tensor& b, const Tensor& dy, \
                                         Tensor& dx, Accum accum);
TARE_BINARY_OPS(TARE_INSTANTIATE)
#undef TARE_INSTANTIATE
#define TARE_INSTANTIATE(F) template void compare<math::F>(const Tensor& a, const Tensor& b, Tensor& y);
TARE_COMPARISONS(TARE_INSTANTIATE)
#undef TARE_INSTANTIATE

}  // namespace tare::kernels::cpu
