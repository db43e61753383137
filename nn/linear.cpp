// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/linear.h"

#include <cmath>

namespace tare::nn {

Linear::Linear(int64_t in, int64_t out, WeightLayout layout, const LinearInit& init,
               const ModuleOptions& options)
    : in_(in), out_(out), layout_(layout) {
  TARE_CHECK(in > 0 && out > 0, "Linear: ", in, " -> ", out, ", expected sizes above 0");
  const double bound = 1 / std::sqrt(double(in));
  const Shape shape = layout == WeightLayout::out_in ? Shape{out, in} : Shape{in, out};
  register_parameter("weight", weight, shape, init.weight.value_or(Init::uniform(-bound, bound)), options);
  if (init.has_bias)
    register_parameter("bias", bias, {out}, init.bias.value_or(Init::uniform(-bound, bound)), options);
}

Var Linear::forward(const Var& x) const {
  const ForwardScope scope(*this);
  return linear(x, weight, bias, layout_);
}

std::string Linear::describe() const {
  return detail::concat(layout_ == WeightLayout::out_in ? "Linear(" : "Conv1D(", in_, " -> ", out_,
                        bias.defined() ? ")" : ", no bias)");
}

}  // namespace tare::nn
