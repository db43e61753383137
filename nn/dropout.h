// SPDX-License-Identifier: Apache-2.0
// Dropout (Srivastava et al., 2014): in training, zero with probability p and scale the rest by 1 / (1 - p).
#pragma once

#include <string>

#include "tare/nn/module.h"

namespace tare::nn {

// In training it needs a RandomScope; the mask follows from that (seed, update, index of the sample, which is
// x's first axis), the module's path, which of its calls this is, and the element, however a batch is cut.
class Dropout : public Module {
 public:
  explicit Dropout(double p);  // 0 <= p < 1
  Var forward(const Var& x) const;
  std::string describe() const override;
  double p() const { return p_; }

 private:
  double p_;
};

}  // namespace tare::nn
