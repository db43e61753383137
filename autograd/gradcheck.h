// SPDX-License-Identifier: Apache-2.0
// Compares gradients with central differences, in f64.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tare/autograd/var.h"

namespace tare {

struct GradcheckOptions {
  double epsilon = 1e-6;    // step of the central difference
  double tolerance = 1e-6;  // of |analytic - numeric| / max(|numeric|, rms of its tensor), besides rounding
  uint64_t seed = 0;        // of the random dy with which f's result is contracted
  std::vector<bool> wanted = {};  // which inputs to check; empty: all
};

// Empty when every gradient of f at `inputs` (f64, any layout) agrees, else a text that names the worst
// element. f must be a function of its arguments alone. Also checks that a second pass adds to the gradient
// what the first one set.
std::string gradcheck(const std::function<Var(const Vars&)>& f, const std::vector<Tensor>& inputs,
                      const GradcheckOptions& options = {});

}  // namespace tare
