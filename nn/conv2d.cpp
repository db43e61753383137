// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/conv2d.h"

#include <cmath>

namespace tare::nn {
namespace {

std::string times(Extent2d e) { return detail::concat(e.h, " x ", e.w); }

bool all_at_least(Extent2d e, int64_t least) { return e.h >= least && e.w >= least; }

}  // namespace

Conv2d::Conv2d(int64_t in, int64_t out, Extent2d kernel, const Conv2dOptions& conv, const Conv2dInit& init,
               const ModuleOptions& options)
    : in_(in), out_(out), kernel_(kernel), conv_(conv) {
  TARE_CHECK(in > 0 && out > 0 && all_at_least(kernel, 1), "Conv2d: ", in, " -> ", out, ", kernel ",
             times(kernel), ", expected sizes above 0");
  TARE_CHECK(all_at_least(conv.stride, 1) && all_at_least(conv.padding, 0) && all_at_least(conv.dilation, 1),
             "Conv2d: stride ", times(conv.stride), ", padding ", times(conv.padding), ", dilation ",
             times(conv.dilation), ", expected at least 1, 0, 1");
  const double bound = 1 / std::sqrt(double(in * kernel.h * kernel.w));
  const Init uniform = Init::uniform(-bound, bound);
  register_parameter("weight", weight, {out, in, kernel.h, kernel.w}, init.weight.value_or(uniform), options);
  if (init.has_bias) register_parameter("bias", bias, {out}, init.bias.value_or(uniform), options);
}

Var Conv2d::forward(const Var& x) const {
  const ForwardScope scope(*this);
  return conv2d(x, weight, bias, conv_);
}

std::string Conv2d::describe() const {
  std::string text = detail::concat("Conv2d(", in_, " -> ", out_, ", kernel ", times(kernel_));
  if (conv_.stride != Extent2d(1)) text += ", stride " + times(conv_.stride);
  if (conv_.padding != Extent2d(0)) text += ", padding " + times(conv_.padding);
  if (conv_.dilation != Extent2d(1)) text += ", dilation " + times(conv_.dilation);
  return text + (bias.defined() ? ")" : ", no bias)");
}

}  // namespace tare::nn
