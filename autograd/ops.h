// SPDX-License-Identifier: Apache-2.0
// Differentiable operations on Vars. An op allocates its result, calls the kernel and records its backward;
// the definitions stand in ops/, each forward with its backward right below. Integer arguments are plain
// Tensors.
#pragma once

#include "tare/autograd/var.h"

namespace tare {

// ---- normalisation (ops/normalize.cpp)

Var softmax(const Var& x);  // (..., C) -> (..., C), over the last axis

}  // namespace tare
