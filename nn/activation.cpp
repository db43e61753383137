// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/activation.h"

#include "tare/autograd/ops.h"

namespace tare::nn {

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::gelu:
      return "gelu";
    case Activation::relu:
      return "relu";
    case Activation::silu:
      return "silu";
  }
  TARE_UNREACHABLE();
}

Activation activation_from_name(const std::string& name) {
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::gelu_tanh;
  if (name == "gelu") return Activation::gelu;
  if (name == "relu") return Activation::relu;
  if (name == "silu" || name == "swish") return Activation::silu;
  TARE_THROW("there is no activation \"", name, "\"; there are gelu_new, gelu, relu, silu");
}

Var activate(Activation activation, const Var& x) {
  switch (activation) {
    case Activation::gelu_tanh:
      return gelu_tanh(x);
    case Activation::gelu:
      return gelu_erf(x);
    case Activation::relu:
      return relu(x);
    case Activation::silu:
      return silu(x);
  }
  TARE_UNREACHABLE();
}

}  // namespace tare::nn
