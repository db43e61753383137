// SPDX-License-Identifier: Apache-2.0
// Attention, on separate operands and on the packed projection of self-attention.
#include "tare/kernels/attention.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/ops/dropout_here.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"

namespace tare {
namespace {

kernels::AttentionOptions kernel_options(const AttentionOptions& options) {
  return {options.causal, options.scale, dropout_here(options.dropout)};
}

Tensor with_dense_rows(const Tensor& t) { return t.dim() > 0 && t.stride(-1) == 1 ? t : t.contiguous(); }

Tensor scratch_of(int64_t bytes, const Tensor& like) {
  return Tensor::empty({bytes}, {DType::u8, like.device(), Category::workspace});
}

Tensor log_sums(const Tensor& q) {
  return Tensor::empty({q.size(0), q.size(1), q.size(2)},
                       {q.dtype() == DType::f64 ? DType::f64 : DType::f32, q.device(), {}});
}

// (B, T, C) as (B, heads, T, D), a view.
Tensor split_heads(const Tensor& t, int64_t heads) {
  return t.view({t.size(0), t.size(1), heads, t.size(2) / heads}).transpose(1, 2);
}

// q, k, v of a packed (B, T, 3 C), as views (B, heads, T, D).
kernels::AttentionOperands unpack(const Tensor& qkv, int64_t heads, const Tensor& key_mask) {
  const int64_t C = qkv.size(2) / 3;
  const auto part = [&](int64_t i) { return split_heads(qkv.slice(2, i * C, (i + 1) * C), heads); };
  return {part(0), part(1), part(2), key_mask};
}

Tensor dense_mask(const Tensor& mask) { return mask.defined() ? mask.contiguous() : mask; }

void forward(const kernels::AttentionOperands& in, const kernels::AttentionOptions& options, Tensor& out,
             Tensor& lse) {
  Tensor scratch = scratch_of(kernels::attention_forward_scratch_bytes(in), in.q);
  kernels::attention_forward(in, options, scratch, out, lse);
}

}  // namespace

// y = softmax(scale q k^T) v; backward in kernels/attention.h
Var attention(const Var& q, const Var& k, const Var& v, const AttentionOptions& options) {
  const OpScope op("attention");
  const kernels::AttentionOperands in{with_dense_rows(q.value()), with_dense_rows(k.value()),
                                      with_dense_rows(v.value()), dense_mask(options.key_mask)};
  TARE_CHECK(in.q.dim() == 4, "attention: q has shape ", q.shape(), ", expected (B, H, T, D)");
  const kernels::AttentionOptions inner = kernel_options(options);
  Tensor y = Tensor::empty(in.q.shape(), {q.dtype(), q.device(), {}}), lse = log_sums(in.q);
  forward(in, inner, y, lse);
  return record("attention", y, {q, k, v}, {in.q, in.k, in.v, in.key_mask, y, lse},
                [inner](GradOut& out, Saved& saved, const Tensor& dy) {
                  const kernels::AttentionOperands in{saved[0], saved[1], saved[2], saved[3]};
                  kernels::AttentionGradients g;
                  Tensor* const gradients[] = {&g.dq, &g.dk, &g.dv};
                  for (size_t i = 0; i < 3; ++i)
                    if (out.needs(i)) *gradients[i] = Tensor::empty_like(saved[i]);
                  {
                    Tensor scratch = scratch_of(kernels::attention_backward_scratch_bytes(in), dy);
                    kernels::attention_backward(dy, in, saved[4], saved[5], inner, scratch, g);
                  }
                  for (size_t i = 0; i < 3; ++i)
                    if (out.needs(i)) out.give(i, std::move(*gradients[i]));
                });
}

// The same on views of one projection; dq, dk and dv are views of its one gradient.
Var packed_attention(const Var& qkv, int64_t heads, const AttentionOptions& options) {
  const OpScope op("attention");
  TARE_CHECK(qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0,
             "packed_attention: qkv has shape ", qkv.shape(), ", expected (B, T, 3 C) with C a multiple of ",
             heads, " heads");
  const Tensor packed = qkv.value().contiguous();
  const kernels::AttentionOptions inner = kernel_options(options);
  Tensor y = Tensor::empty({packed.size(0), packed.size(1), packed.size(2) / 3},
                           {packed.dtype(), packed.device(), {}});
  const kernels::AttentionOperands in = unpack(packed, heads, dense_mask(options.key_mask));
  Tensor lse = log_sums(in.q), y_heads = split_heads(y, heads);
  forward(in, inner, y_heads, lse);
  return record("attention", y, {qkv}, {packed, in.key_mask, y, lse},
                [inner, heads](GradOut& out, Saved& saved, const Tensor& dy) {
                  const kernels::AttentionOperands in = unpack(saved[0], heads, saved[1]);
                  Tensor d = Tensor::empty_like(saved[0]);
                  const kernels::AttentionOperands parts = unpack(d, heads, {});
                  kernels::AttentionGradients g{parts.q, parts.k, parts.v};
                  {
                    Tensor scratch = scratch_of(kernels::attention_backward_scratch_bytes(in), dy);
                    kernels::attention_backward(split_heads(dy, heads), in, split_heads(saved[2], heads),
                                                saved[3], inner, scratch, g);
                  }
                  out.give(0, std::move(d));
                });
}

}  // namespace tare
