// SPDX-License-Identifier: Apache-2.0
// Recomputation, also called gradient or activation checkpointing (Chen et al. 2016, arXiv:1604.06174): less
// memory for a second forward.
#pragma once

#include <functional>

#include "tare/autograd/var.h"

namespace tare {

using CheckpointFn = std::function<Var(const Vars& inputs)>;

// fn(inputs), of which the tape keeps the inputs alone: backward runs fn again, and goes through what that
// records. Gradients equal those of the plain call bit for bit: random numbers are drawn anew from the same
// streams, under the same module path. fn may use parameters and other Vars besides its inputs, and call
// checkpoint() itself; it must do the same work both times, and what it refers to must live until backward.
// Error in backward when an input, or a parameter that wants a gradient, was changed in place since, or the
// results' shapes differ. What fn uses besides is not checked, and is no activation in the ledger.
// Without gradients it is fn(inputs). A Profiler counts the second runs as "recompute".
Var checkpoint(const CheckpointFn& fn, const Vars& inputs);

}  // namespace tare
