// SPDX-License-Identifier: Apache-2.0
// The checks that fronts share. `op` names the front, `what` the argument.
#pragma once

#include "tare/core/tensor.h"

namespace tare::kernels {

void check_same_shape(const char* op, const char* what, const Tensor& t, const Shape& expected);
void check_same_dtype(const char* op, const char* what, const Tensor& t, DType expected);
void check_same_device(const char* op, const char* what, const Tensor& t, Device expected);
void check_contiguous(const char* op, const char* what, const Tensor& t);
// Shape, dtype and device of `t` as those of `model`.
void check_like(const char* op, const char* what, const Tensor& t, const Tensor& model);
void check_floating(const char* op, const char* what, const Tensor& t);

}  // namespace tare::kernels
