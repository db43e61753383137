// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/norm.h"

#include "tare/autograd/ops.h"

namespace tare::nn {
namespace {

void check_norm(const char* what, int64_t width, double epsilon) {
  TARE_CHECK(width > 0 && epsilon > 0, what, ": width ", width, ", epsilon ", epsilon,
             ", expected both above 0");
}

}  // namespace

LayerNorm::LayerNorm(int64_t width, double epsilon, const ModuleOptions& options) : epsilon_(epsilon) {
  check_norm("LayerNorm", width, epsilon);
  register_parameter("weight", weight, {width}, Init::ones(), options);
  register_parameter("bias", bias, {width}, Init::zeros(), options);
}

Var LayerNorm::forward(const Var& x) const {
  const ForwardScope scope(*this);
  return layernorm(x, weight, bias, epsilon_);
}

std::string LayerNorm::describe() const { return detail::concat("LayerNorm(", weight.size(0), ")"); }

RmsNorm::RmsNorm(int64_t width, double epsilon, const ModuleOptions& options) : epsilon_(epsilon) {
  check_norm("RMSNorm", width, epsilon);
  register_parameter("weight", weight, {width}, Init::ones(), options);
}

Var RmsNorm::forward(const Var& x) const {
  const ForwardScope scope(*this);
  return rmsnorm(x, weight, epsilon_);
}

std::string RmsNorm::describe() const { return detail::concat("RMSNorm(", weight.size(0), ")"); }

}  // namespace tare::nn
