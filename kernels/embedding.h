// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// y[..., :] = table[ids[...], :].  ids: any shape, contiguous, i64, i32 or u8; table: (V, C) contiguous, any
// floating dtype; y: (..., C) contiguous, of the table's dtype. An id outside [0, V) is an Error that names
// the first such position.
void embedding_forward(const Tensor& ids, const Tensor& table, Tensor& y);
// dtable[ids[...], :] = or += dy[..., :]; rows without an id become 0 under Accum::set. dy: (..., C)
// contiguous; dtable: (V, C) contiguous, dy's dtype or f32. Contributions are added in the order of the ids,
// whatever the number of threads. Ids as in the forward.
void embedding_backward(const Tensor& ids, const Tensor& dy, Tensor& dtable, Accum accum);

TARE_DECLARE_TWINS(embedding_forward, const Tensor& ids, const Tensor& table, Tensor& y)
TARE_DECLARE_TWINS(embedding_backward, const Tensor& ids, const Tensor& dy, Tensor& dtable, Accum accum)

}  // namespace tare::kernels
