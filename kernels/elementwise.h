// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels. Operands may have any strides (0 repeats) and broadcast to the result's shape by
// NumPy's rules; results may not repeat. An operand may be of another dtype than the result: each element is
// computed in the widest of their accumulation types (f64, else f32; integers in i64) and converted on the
// way out.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/functors.h"

// Every functor that has kernels. One that is missing here is a link error where it is used.
#define TARE_UNARY_OPS(X) \
  X(Abs)                  \
  X(AddScalar)            \
  X(Clamp)                \
  X(DivScalar)            \
  X(Erf)                  \
  X(Exp)                  \
  X(GeluErf)              \
  X(GeluTanh)             \
  X(Log)                  \
  X(MulScalar)            \
  X(Neg)                  \
  X(PowScalar)            \
  X(Reciprocal)           \
  X(Relu)                 \
  X(Rsqrt)                \
  X(ScalarDiv)            \
  X(ScalarSub)            \
  X(Sigmoid)              \
  X(Silu)                 \
  X(Sqrt)                 \
  X(Square)               \
  X(Tanh)
#define TARE_BINARY_OPS(X) X(Add) X(Div) X(Maximum) X(Minimum) X(Mul) X(Pow) X(Sub)
#define TARE_COMPARISONS(X) X(Equal) X(Greater) X(GreaterEqual) X(Less) X(LessEqual) X(NotEqual)

namespace tare::kernels {

enum class Side : uint8_t { a, b };

// y = f(x). x, y: same shape, floating dtypes; y may be x.
template <class F> void unary_forward(const Tensor& x, Tensor& y, F f = {});
// dx = or += f'(x) dy. x and y may be undefined where F::kNeeds does not name them; same shape, floating
// dtypes; dx may be dy.
template <class F>
void unary_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum, F f = {});

// y = f(a, b). Floating dtypes; Add, Sub, Mul, Maximum and Minimum also integers, all three of them. y may be
// an operand of its shape.
template <class F> void binary_forward(const Tensor& a, const Tensor& b, Tensor& y);
// dx = or += df/da dy, or df/db dy. dx has dy's shape (the engine sums it back); floating dtypes. a and b may
// be undefined where F does not read them.
template <class F>
void binary_backward(Side side, const Tensor& a, const Tensor& b, const Tensor& dy, Tensor& dx, Accum accum);

// y = a op b, bool. Any dtypes but bool; a floating operand makes the comparison floating.
template <class F> void compare(const Tensor& a, const Tensor& b, Tensor& y);

// y = mask ? a : b. mask: bool. a, b, y: any dtypes, all floating or none. y may be a or b of its shape.
void where_forward(const Tensor& mask, const Tensor& a, const Tensor& b, Tensor& y);
// dx = or += mask == on ? dy : 0, of dy's shape: on = true is a's gradient, false b's.
void where_backward(const Tensor& mask, bool on, const Tensor& dy, Tensor& dx, Accum accum);

namespace cpu {
template <class F> void unary_forward(const Tensor& x, Tensor& y, F f);
template <class F>
void unary_backward(const Tensor& x, const Tensor& y, const Tensor& dy, Tensor& dx, Accum accum, F f);
template <class F> void binary_forward(const Tensor& a, const Tensor& b, Tensor& y);
template <class F>
void binary_backward(Side side, const Tensor& a, const Tensor& b, const Tensor& dy, Tensor& dx, Accum accum);
template <class F> void compare(const Tensor& a, const Tensor& b, Tensor& y);
}  // namespace cpu
TARE_DECLARE_TWINS(where_forward, const Tensor& mask, const Tensor& a, const Tensor& b, Tensor& y)
TARE_DECLARE_TWINS(where_backward, const Tensor& mask, bool on, const Tensor& dy, Tensor& dx, Accum accum)

}  // namespace tare::kernels
