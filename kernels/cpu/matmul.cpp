// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/matmul.h"

#include "tare/core/parallel.h"
#include "tare/kernels/cpu/gemm.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kSmall = 1 << 18;  // multiply-adds: below, a product is not worth several threads

// Element offset of matrix `index` (row-major over the leading axes of c) in an operand broadcast to them.
int64_t batch_offset(int64_t index, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  for (int i = shape.dim() - 3; i >= 0; --i) {
    offset += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return offset;
}

// t with its leading axes broadcast to those of `shape`.
Strides broadcast_strides(const Tensor& t, const Shape& shape) {
  Shape target = shape;
  target[shape.dim() - 2] = t.size(-2);
  target[shape.dim() - 1] = t.size(-1);
  return t.expand(target).strides();
}

template <class T, class C> void matmul_typed(const Tensor& a, const Tensor& b, Tensor& c, Accum accum) {
  const T* pa = a.data<T>();
  const T* pb = b.data<T>();
  C* pc = c.mutable_data<C>();
  const Shape& shape = c.shape();
  const Strides sa = broadcast_strides(a, shape), sb = broadcast_strides(b, shape), sc = c.strides();
  const int64_t M = c.size(-2), N = c.size(-1), K = a.size(-1), matrices = c.numel() / (M * N);
  const auto multiply = [&](int64_t i) {
    gemm<T, C>({.a = pa + batch_offset(i, shape, sa),
                .a_row = a.stride(-2),
                .a_col = a.stride(-1),
                .b = pb + batch_offset(i, shape, sb),
                .b_row = b.stride(-2),
                .b_col = b.stride(-1),
                .c = pc + batch_offset(i, shape, sc),
                .c_row = c.stride(-2),
                .c_col = c.stride(-1),
                .M = M,
                .N = N,
                .K = K,
                .accum = accum});
  };
  // Many small products: one thread each; few large ones: all threads on each.
  if (matrices > 1 && M * N * K < kSmall) {
    parallel_for(matrices, kSmall / (M * N * K + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) multiply(i);
    });
  } else {
    for (int64_t i = 0; i < matrices; ++i) multiply(i);
  }
}

}  // namespace

void matmul(const Tensor& a, const Tensor& b, Tensor& c, Accum accum) {
  if (c.numel() == 0) return;
  visit_floating(a.dtype(), "matmul", [&]<class T>() {
    if (c.dtype() == a.dtype())
      matmul_typed<T, T>(a, b, c, accum);
    else
      matmul_typed<T, acc_t<T>>(a, b, c, accum);
  });
}

}  // namespace tare::kernels::cpu
