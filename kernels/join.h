// SPDX-License-Identifier: Apache-2.0
// Joining tensors along an axis.
#pragma once

#include <vector>

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"

namespace tare::kernels {

// y = the xs one after the other along `axis` (not negative). Any dtypes and strides; shapes differ along the
// axis only, and y's extent there is the sum of theirs.
void cat_forward(const std::vector<Tensor>& xs, int axis, Tensor& y);

TARE_DECLARE_TWINS(cat_forward, const std::vector<Tensor>& xs, int axis, Tensor& y)

}  // namespace tare::kernels
