// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/causal_lm.h"

namespace tare::nn {

Var CausalLm::forward(const LmInput& input) const { return linear(hidden(input), head_weight()); }

Tensor CausalLm::next_logits(const LmInput& input) const {
  const Var x = hidden(input);
  return linear(select(x, 1, x.size(1) - 1), head_weight()).value();
}

LossSum CausalLm::loss(const LmInput& input, const Tensor& targets, double scale) const {
  return linear_cross_entropy(hidden(input), head_weight(), targets, {.scale = scale});
}

}  // namespace tare::nn
