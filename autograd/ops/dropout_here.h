// SPDX-License-Identifier: Apache-2.0
// Which elements the random op being run drops: named by the module path, by where in training it is, and by
// how many random ops ran there before it. Call it once per op: the next call is another op's.
#pragma once

#include "tare/core/random_scope.h"
#include "tare/kernels/dropout_mask.h"

namespace tare {

// Error where p is not 0 outside any RandomScope.
inline kernels::DropoutStream dropout_here(double p) {
  if (p == 0) return {};
  RandomState& random = current_random();
  const RandomContext& at = random.context();
  return {p, random.next_key().mix(), at.update, at.first_sample, at.sample_stride};
}

}  // namespace tare
