// SPDX-License-Identifier: Apache-2.0
// Exchange of tensors with other libraries without copies: https://dmlc.github.io/dlpack. The structure is
// defined by <dlpack/dlpack.h>, or by "tare/core/dlpack_abi.h" where that is not installed.
#pragma once

#include "tare/core/tensor.h"

struct DLManagedTensor;

namespace tare {

// Shares the tensor's memory, which lives until the consumer calls `deleter`, once. Strides are as they are;
// data points at the first element, byte_offset is 0. Error for an undefined tensor and on meta. What the
// consumer writes is not counted by version().
DLManagedTensor* to_dlpack(const Tensor& t);

// A tensor over the producer's memory, not charged to the ledger; calls `deleter` when the last view is gone.
// Takes CPU, pinned host and CUDA memory and every dtype of Tare's, any strides. On an Error (another dtype
// or device, vector lanes, more than kMaxDims dimensions, data that is not aligned) it still belongs to the
// caller.
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace tare
