// SPDX-License-Identifier: Apache-2.0
// The parts of kernel_cases(). They stand at gpt2 with batch 4 and 256 positions: 1,024 tokens of width 768,
// 12 heads, a vocabulary of 50,257.
#pragma once

#include "tare/bench/kernels.h"
#include "tare/core/tensor.h"

namespace tare::bench {

inline constexpr int64_t kBatch = 4, kPositions = 256, kTokens = kBatch * kPositions;
inline constexpr int64_t kWidth = 768, kInner = 4 * kWidth, kHeads = 12, kVocabulary = 50257;

std::vector<KernelCase> matrix_cases();   // products, attention, the head with its loss
std::vector<KernelCase> row_cases();      // norms, softmax, cross-entropy, embedding
std::vector<KernelCase> element_cases();  // elementwise, dropout, reductions, copies
std::vector<KernelCase> update_cases();   // gradient norm and optimizers over all parameters

// Scratch as ops give it to kernels: u8, not zeroed.
inline Tensor scratch_of(int64_t bytes) { return Tensor::empty({bytes}, {DType::u8, kCpu, {}}); }
// Ids 0 <= id < below, spread without order.
inline Tensor spread_ids(int64_t count, int64_t below) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int64_t(i * 2654435761u % uint64_t(below));
  return Tensor::from_vector(ids, {count});
}

}  // namespace tare::bench
