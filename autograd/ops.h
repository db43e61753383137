// SPDX-License-Identifier: Apache-2.0
// Differentiable operations on Vars. An op allocates its result, calls the kernel and records its backward;
// the definitions stand in ops/, each forward with its backward right below. Integer arguments are plain
// Tensors.
#pragma once

#include "tare/autograd/var.h"

namespace tare {

// ---- normalisation (ops/normalize.cpp)

Var softmax(const Var& x);  // (..., C) -> (..., C), over the last axis

// ---- products (ops/linear.cpp)

// (..., M, K) (..., K, N) -> (..., M, N); leading axes broadcast.
Var matmul(const Var& a, const Var& b);
Var bmm(const Var& a, const Var& b);  // (B, M, K) (B, K, N) -> (B, M, N)

// How a layer stores its weight: (out, in) as nn.Linear, or (in, out) as GPT-2's Conv1D.
enum class WeightLayout : uint8_t { out_in, in_out };
// y = x w^T + b: x (..., in) -> (..., out); b (out) or undefined.
Var linear(const Var& x, const Var& w, const Var& b = {}, WeightLayout layout = WeightLayout::out_in);

}  // namespace tare
