// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/dropout.h"

#include "tare/autograd/ops.h"

namespace tare::nn {

Dropout::Dropout(double p) : p_(p) {
  TARE_CHECK(p >= 0 && p < 1, "Dropout: p is ", p, ", expected 0 <= p < 1");
}

Var Dropout::forward(const Var& x) const {
  const ForwardScope scope(*this);
  return training() && p_ > 0 ? dropout(x, p_) : x;
}

std::string Dropout::describe() const { return detail::concat("Dropout(", p_, ")"); }

}  // namespace tare::nn
