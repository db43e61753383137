// SPDX-License-Identifier: Apache-2.0
// Cross-entropy behind a linear head without a bias, fused over chunks of rows: the (N, V) logits are never
// whole in memory and never computed twice, because the gradients of a chunk are formed while its logits are
// at hand.
#pragma once

#include "tare/kernels/cross_entropy.h"

namespace tare::kernels {

struct LinearCrossEntropyOptions {
  CrossEntropyOptions loss;
  double scale = 1;   // on the gradients; the losses are not scaled
  int64_t chunk = 0;  // rows at once; 0: linear_cross_entropy_chunk()
};

// The rule for rows at once: as many as keep the chunk's f32 logits within 64 MiB, at least 16, and the
// chunks of one call of nearly equal length (multiples of 16).
int64_t linear_cross_entropy_chunk(int64_t N, int64_t V);
// Bytes of scratch: one chunk of logits in the accumulation type, and for half types its gradient beside it.
int64_t linear_cross_entropy_scratch_bytes(int64_t N, int64_t V, DType dtype, int64_t chunk);

// Where results go. A gradient that is not wanted stays undefined.
struct LinearCrossEntropyResult {
  Tensor loss;  // (N) f32, f64 for f64
  Tensor dx;    // (N, C), of x's dtype: overwritten
  Tensor dw;    // (V, C), of x's dtype or f32: overwritten; either layout, as linear_backward_weight takes
};

// loss = cross_entropy(x w^T), dx = scale * dlogits w, dw = scale * dlogits^T x.  x (N, C), w (V, C), targets
// (N) i64 as count_targets() has passed them; scratch: a u8 tensor of its own storage, not zeroed.
void linear_cross_entropy(const Tensor& x, const Tensor& w, const Tensor& targets,
                          const LinearCrossEntropyOptions& options, Tensor& scratch,
                          LinearCrossEntropyResult& result);

}  // namespace tare::kernels
