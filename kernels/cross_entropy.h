// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of logits against class labels, with ignored labels and label smoothing (Szegedy et al.
// 2016). Row r with label t: target_v = (1 - smoothing) [v == t] + smoothing / V, loss_r = -sum_v target_v
// log p_v; an ignored row has loss 0 and no gradient.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

struct CrossEntropyOptions {
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // in [0, 1]
};

// How many of the targets (any shape, i64, contiguous) are not ignored. A label outside [0, V) is an Error
// that names row and label: call it before the kernels below, which rely on it. On meta: all of them.
int64_t count_targets(const Tensor& targets, int64_t V, const CrossEntropyOptions& options);

// loss (N) and lse (N), the log of each row's sum of exp; lse may be undefined.  logits (N, V) contiguous,
// targets (N) i64; loss and lse f32, f64 for f64 logits.
void cross_entropy_forward(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options,
                           Tensor& loss, Tensor& lse);
// dlogits = or += dsum * (softmax(logits) - target).  dsum: one element of lse's dtype, the gradient of the
// sum of the losses. dlogits (N, V) may be logits when accum is set.
void cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                            const Tensor& dsum, const CrossEntropyOptions& options, Tensor& dlogits,
                            Accum accum);
// Both at once: loss (N), and dlogits = scale * (softmax(logits) - target), whose dtype may differ from the
// logits'. dlogits may be logits.
void cross_entropy_forward_backward(const Tensor& logits, const Tensor& targets, double scale,
                                    const CrossEntropyOptions& options, Tensor& loss, Tensor& dlogits);

TARE_DECLARE_TWINS(cross_entropy_forward, const Tensor& logits, const Tensor& targets,
                   const CrossEntropyOptions& options, Tensor& loss, Tensor& lse)
TARE_DECLARE_TWINS(cross_entropy_backward, const Tensor& logits, const Tensor& targets, const Tensor& lse,
                   const Tensor& dsum, const CrossEntropyOptions& options, Tensor& dlogits, Accum accum)
TARE_DECLARE_TWINS(cross_entropy_forward_backward, const Tensor& logits, const Tensor& targets, double scale,
                   const CrossEntropyOptions& options, Tensor& loss, Tensor& dlogits)

}  // namespace tare::kernels
