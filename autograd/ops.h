// SPDX-License-Identifier: Apache-2.0
// Differentiable operations on Vars. An op allocates its result, calls the kernel and records its backward;
// the definitions stand in ops/, each forward with its backward right below. Integer arguments are plain
// Tensors. Operands of any strides give the same results as contiguous ones.
#pragma once

#include <limits>
#include <vector>

#include "tare/autograd/var.h"
#include "tare/kernels/conv2d_sizes.h"

namespace tare {

// ---- elementwise, one operand (ops/elementwise.cpp): floating dtypes, y has x's shape and dtype

Var abs(const Var& x);  // gradient 0 at 0
Var square(const Var& x);
Var reciprocal(const Var& x);
Var exp(const Var& x);
Var log(const Var& x);
Var sqrt(const Var& x);
Var rsqrt(const Var& x);  // 1 / sqrt(x)
Var tanh(const Var& x);
Var erf(const Var& x);
Var sigmoid(const Var& x);
Var relu(const Var& x);
Var silu(const Var& x);       // x sigmoid(x)
Var gelu_tanh(const Var& x);  // the approximation of GPT-2 ("gelu_new")
Var gelu_erf(const Var& x);   // x Phi(x)
Var pow(const Var& x, double exponent);
// min(max(x, low), high); the gradient passes on the closed interval.
Var clamp(const Var& x, double low, double high = std::numeric_limits<double>::infinity());
Var operator-(const Var& x);
Var operator+(const Var& x, double s);
Var operator+(double s, const Var& x);
Var operator-(const Var& x, double s);
Var operator-(double s, const Var& x);
Var operator*(const Var& x, double s);
Var operator*(double s, const Var& x);
Var operator/(const Var& x, double s);
Var operator/(double s, const Var& x);

// ---- elementwise, two operands (ops/binary.cpp): shapes broadcast by NumPy's rules, dtypes as promote()
// says

Var operator+(const Var& a, const Var& b);
Var operator-(const Var& a, const Var& b);
Var operator*(const Var& a, const Var& b);
Var operator/(const Var& a, const Var& b);
Var pow(const Var& a, const Var& b);
Var maximum(const Var& a, const Var& b);  // at a tie each side gets half of the gradient
Var minimum(const Var& a, const Var& b);
Var where(const Tensor& mask, const Var& a, const Var& b);        // mask ? a : b; mask is bool
Var masked_fill(const Var& x, const Tensor& mask, double value);  // mask ? value : x; mask broadcasts to x
Tensor equal(const Tensor& a, const Tensor& b);                   // comparisons give bool
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);

// ---- reductions (ops/reduce.cpp): floating dtypes; no axes: over all. keepdim leaves extents of 1.

using Axes = std::vector<int>;  // negative ones count from the end

Var sum(const Var& x, const Axes& axes = {}, bool keepdim = false);
Var mean(const Var& x, const Axes& axes = {}, bool keepdim = false);
Var max(const Var& x, const Axes& axes = {}, bool keepdim = false);  // ties share the gradient; NaN wins
Var min(const Var& x, const Axes& axes = {}, bool keepdim = false);
// Around the mean; divided by count - 1 (unbiased) or count.
Var variance(const Var& x, const Axes& axes = {}, bool unbiased = true, bool keepdim = false);

// ---- shape (ops/shape.cpp): views share x's storage, as those of Tensor; one extent may be -1

Var view(const Var& x, const Shape& shape);     // Error where strides do not allow it
Var reshape(const Var& x, const Shape& shape);  // copies where strides do not allow a view
Var contiguous(const Var& x);
Var transpose(const Var& x, int a, int b);
Var permute(const Var& x, const std::vector<int>& order);
Var expand(const Var& x, const Shape& shape);
Var unsqueeze(const Var& x, int axis);
Var squeeze(const Var& x, int axis);
// Elements begin, begin + step, ... before end along an axis, as Tensor::slice.
Var slice(const Var& x, int axis, int64_t begin, int64_t end, int64_t step = 1);
Var select(const Var& x, int axis, int64_t index);  // drops the axis
Vars split(const Var& x, int axis, const std::vector<int64_t>& sizes);
Var cat(const Vars& xs, int axis);    // shapes differ along the axis only; dtypes are promoted
Var stack(const Vars& xs, int axis);  // along a new axis
Var to(const Var& x, DType dtype);    // the gradient is converted back

// ---- picking by index (ops/index.cpp): index is i64, i32 or u8; one outside the axis is an Error

// y[.., j, ..] = x[.., index[.., j, ..], ..], of index's shape. index has x's rank and is at most as large
// beside the axis. Gradients of an element that is picked several times are summed in the order of the index.
Var gather(const Var& x, int axis, const Tensor& index);
// Whole slices: y[.., j, ..] = x[.., index[j], ..]; index (n).
Var index_select(const Var& x, int axis, const Tensor& index);

// ---- the largest and smallest, and where they are (ops/extremes.cpp): any dtype. NaN wins over every
// number; of equal ones the lower position comes first. An axis of extent 0 has none: an Error.

Tensor argmax(const Tensor& x, int axis, bool keepdim = false);  // i64
Tensor argmin(const Tensor& x, int axis, bool keepdim = false);
struct Ranked {
  Var values;
  Tensor indices;  // i64, of the same shape: positions along the axis
};
// Unlike max() and min(), which share it among equals, the gradient goes to the element at `indices` alone.
Ranked max_with_index(const Var& x, int axis, bool keepdim = false);
Ranked min_with_index(const Var& x, int axis, bool keepdim = false);
// The k largest along the axis, largest first; 0 <= k <= its extent.
Ranked topk(const Var& x, int64_t k, int axis = -1);

// ---- rows of a table (ops/embedding.cpp)

// table (V, C) at ids (...): (..., C). ids: i64, i32 or u8; one outside [0, V) is an Error.
Var embedding(const Tensor& ids, const Var& table);

// ---- normalisation (ops/normalize.cpp)

Var softmax(const Var& x);  // (..., C) -> (..., C), over the last axis
// (x - mean) / sqrt(var + eps) * gamma + beta over the last axis of x (..., C). gamma, beta: (C), of x's
// dtype or f32; an undefined one counts as ones, as zeros.
Var layernorm(const Var& x, const Var& gamma, const Var& beta, double eps = 1e-5);
// x / sqrt(mean of x^2 + eps) * gamma over the last axis of x (..., C). gamma as for layernorm.
Var rmsnorm(const Var& x, const Var& gamma, double eps = 1e-6);

// ---- products (ops/linear.cpp)

// (..., M, K) (..., K, N) -> (..., M, N); leading axes broadcast.
Var matmul(const Var& a, const Var& b);
Var bmm(const Var& a, const Var& b);  // (B, M, K) (B, K, N) -> (B, M, N)

// How a layer stores its weight: (out, in) as nn.Linear, or (in, out) as GPT-2's Conv1D.
enum class WeightLayout : uint8_t { out_in, in_out };
// y = x w^T + b: x (..., in) -> (..., out); b (out) or undefined.
Var linear(const Var& x, const Var& w, const Var& b = {}, WeightLayout layout = WeightLayout::out_in);

// linear(gelu(h), w, b) and linear(layernorm(x, gamma, beta, eps), w, b), for which the backward keeps h or x
// alone and forms the layer's input again (ops/fused_linear.cpp). gamma, beta: (C), both defined.
Var gelu_tanh_linear(const Var& h, const Var& w, const Var& b, WeightLayout layout);
Var gelu_erf_linear(const Var& h, const Var& w, const Var& b, WeightLayout layout);
Var layernorm_linear(const Var& x, const Var& gamma, const Var& beta, double eps, const Var& w, const Var& b,
                     WeightLayout layout);

// ---- convolution (ops/conv2d.cpp)

// Images x (B, C, H, W) and kernels w (O, C, KH, KW) of one dtype -> (B, O, OH, OW), plus bias (O) where one
// is given: OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1, rounded down, and OW likewise.
Var conv2d(const Var& x, const Var& w, const Var& bias = {}, const Conv2dOptions& options = {});

// ---- attention (ops/attention.cpp)

struct AttentionOptions {
  bool causal = false;   // query t sees key s <= t + S - T: the last query sees the last key
  double scale = 0;      // of the scores; 0: 1 / sqrt(D)
  double dropout = 0;    // of the weights; as for dropout() below
  Tensor key_mask = {};  // (B, S) bool or u8: keys that are seen; undefined: all
};
// softmax(scale q k^T) v: q (B, H, T, D), k and v (B, H, S, D) -> (B, H, T, D). Exact, in memory that grows
// with T alone. A query that sees no key gives 0.
Var attention(const Var& q, const Var& k, const Var& v, const AttentionOptions& options = {});
// Self-attention on a packed projection: (B, T, 3 C), queries then keys then values, each of `heads` heads
// -> (B, T, C).
Var packed_attention(const Var& qkv, int64_t heads, const AttentionOptions& options = {});

// ---- dropout (ops/dropout.cpp)

// Zero with probability p, scaled by 1 / (1 - p) otherwise; p = 0 returns x. The mask follows from the
// RandomScope (Error without one), the module path, how many random ops ran there before, the sample (index
// on axis 0) and the element in it: the same however a batch is cut.
Var dropout(const Var& x, double p);

// ---- losses (ops/loss.cpp)

// The sum of the losses, f32 (f64 for f64) and differentiable, and how many rows it sums. Divide by the count
// of a whole batch, over all its micro-batches and ranks, for its mean.
struct LossSum {
  Var sum;
  int64_t count = 0;
};

struct CrossEntropyLoss {
  int64_t ignore_index = -100;  // rows with this label count for nothing
  double label_smoothing = 0;
};
// logits (..., V) against labels (...) i64. A label outside [0, V) is an Error that names row and label.
LossSum cross_entropy(const Var& logits, const Tensor& targets, const CrossEntropyLoss& loss = {});

struct LinearCrossEntropyLoss {
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  double scale = 1;   // on the sum and the gradients; the count is not scaled
  int64_t chunk = 0;  // rows of logits at once; 0: kernels::linear_cross_entropy_chunk()
};
// scale * cross_entropy(linear(x, w)), w (V, C), without ever holding the (..., V) logits: where gradients
// are wanted, the forward forms them. They are charged to gradients from then on; a w that already has a
// gradient (of an earlier micro-batch) thus costs one more buffer of its size until backward adds the two.
LossSum linear_cross_entropy(const Var& x, const Var& w, const Tensor& targets,
                             const LinearCrossEntropyLoss& loss = {});

}  // namespace tare
