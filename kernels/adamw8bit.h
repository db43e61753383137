// SPDX-License-Identifier: Apache-2.0
// AdamW whose two moments are 8-bit codes in blocks (Dettmers et al., "8-bit optimizers via block-wise
// quantization", 2022), over all parameters of one dtype in one call.
#pragma once

#include "tare/kernels/codes8.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

struct AdamW8bitArgs {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  int64_t block = 256;  // elements that share an absmax; blocks begin with their tensor
  QuantMap map = QuantMap::bnb, map_sq = QuantMap::bnb;  // of exp_avg and of exp_avg_sq
};

// One update of every entry, states = exp_avg (codes, u8), its absmax (f32, one per block), exp_avg_sq
// (codes) and its absmax. The moments are decoded, updated in f32 and move the parameter as they are, in the
// order of adamw_update(): only then are they coded again. Parameters are f32, f16 or bf16, gradients f32.
// Learning rate, clip coefficient and loss scale come from `state`; when its found_inf is not 0 nothing
// changes. A block whose greatest magnitude is not a normal number is stored as 0, one that overflows at the
// greatest f32. Bits depend neither on threads nor on the instruction set.
void adamw8bit_update(const TensorTable& table, const AdamW8bitArgs& args, const Tensor& state);

TARE_DECLARE_TWINS(adamw8bit_update, const TensorTable& table, const AdamW8bitArgs& args, const Tensor& state)

}  // namespace tare::kernels
