// SPDX-License-Identifier: Apache-2.0
// Which elements the random op being run drops: named by the module path and by where in training it is.
#pragma once

#include "tare/core/rng.h"
#include "tare/core/scope.h"
#include "tare/kernels/dropout_mask.h"

namespace tare {

inline kernels::DropoutStream dropout_here(double p) {
  if (p == 0) return {};
  const RandomContext& at = current_random();
  return {p, RngKey{at.seed, current_path_hash()}.mix(), at.update, at.first_sample, at.sample_stride};
}

}  // namespace tare
