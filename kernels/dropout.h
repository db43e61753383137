// SPDX-License-Identifier: Apache-2.0
// Dropout: zero with probability p, scale the rest by 1 / (1 - p) (Srivastava et al., 2014).
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/dropout_mask.h"

namespace tare::kernels {

// y = or += x * mask / (1 - p).  x, y: (B, ...) contiguous, one floating dtype; y may be x when accum is set.
// The mask of element e of sample b is word e % 4 of Philox(key, e / 4, dropout_counter(b)): nothing is kept
// for the backward, which is the same call on dy.
void dropout(const Tensor& x, const DropoutStream& stream, Tensor& y, Accum accum);

TARE_DECLARE_TWINS(dropout, const Tensor& x, const DropoutStream& stream, Tensor& y, Accum accum)

}  // namespace tare::kernels
