// SPDX-License-Identifier: Apache-2.0
// The activations between the two layers of an MLP, by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tare/autograd/var.h"

namespace tare::nn {

enum class Activation : uint8_t { gelu_tanh, gelu, relu, silu };

std::string_view name_of(Activation activation);  // as transformers calls it: "gelu_new", "gelu", ...
// Takes also the other names of the same function ("gelu_pytorch_tanh", "swish"); Error for unknown ones.
Activation activation_from_name(const std::string& name);
Var activate(Activation activation, const Var& x);

}  // namespace tare::nn
