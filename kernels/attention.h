// SPDX-License-Identifier: Apache-2.0
// Exact scaled dot-product attention (Vaswani et al. 2017) over tiles with an online softmax (Milakov and
// Gimelshein 2018; Dao et al. 2022, FlashAttention): memory grows with T, not with T squared. Forward keeps
// the output and the log of each query's sum of exp; backward computes the weights again, tile by tile.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/dropout_mask.h"

namespace tare::kernels {

// q (B, H, T, D), k and v (B, H, S, D), one floating dtype; any strides as long as rows of D are dense, so
// that they may be views of a packed projection. key_mask (B, S) bool or u8, contiguous: a key is seen where
// it is not 0; undefined: all are.
struct AttentionOperands {
  Tensor q, k, v;
  Tensor key_mask;
};

struct AttentionOptions {
  bool causal = false;  // query t sees key s <= t + S - T: the last query sees the last key
  double scale = 0;     // of the scores; 0: 1 / sqrt(D)
  DropoutStream dropout = {};
};

// Bytes of scratch (u8, of its own storage, not zeroed). They depend on the shapes alone.
int64_t attention_forward_scratch_bytes(const AttentionOperands& in);
int64_t attention_backward_scratch_bytes(const AttentionOperands& in);

// out (B, H, T, D) = softmax(scale q k^T) v, rows of D dense; lse (B, H, T) f32 (f64 for f64) contiguous. A
// query that sees no key has out 0 and lse -inf.
void attention_forward(const AttentionOperands& in, const AttentionOptions& options, Tensor& scratch,
                       Tensor& out, Tensor& lse);

// Where gradients go: like q, k and v, rows of D dense; may be views of one packed gradient. One that is not
// wanted stays undefined.
struct AttentionGradients {
  Tensor dq, dk, dv;
  Accum accum_q = Accum::set, accum_k = Accum::set, accum_v = Accum::set;
};
// With P the weights, M the dropout factors: dv = (P M)^T dout; dS = P (M (dout v^T) - rowsum(dout out));
// dq = scale dS k; dk = scale dS^T q.
void attention_backward(const Tensor& dout, const AttentionOperands& in, const Tensor& out, const Tensor& lse,
                        const AttentionOptions& options, Tensor& scratch, AttentionGradients& gradients);

TARE_DECLARE_TWINS(attention_forward, const AttentionOperands& in, const AttentionOptions& options,
                   Tensor& scratch, Tensor& out, Tensor& lse)
TARE_DECLARE_TWINS(attention_backward, const Tensor& dout, const AttentionOperands& in, const Tensor& out,
                   const Tensor& lse, const AttentionOptions& options, Tensor& scratch,
                   AttentionGradients& gradients)

}  // namespace tare::kernels
