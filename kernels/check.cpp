// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/check.h"

namespace tare::kernels {

void check_same_shape(const char* op, const char* what, const Tensor& t, const Shape& expected) {
  TARE_CHECK(t.defined(), op, ": ", what, " is undefined");
  TARE_CHECK(t.shape() == expected, op, ": ", what, " has shape ", t.shape(), ", expected ", expected);
}

void check_same_dtype(const char* op, const char* what, const Tensor& t, DType expected) {
  TARE_CHECK(t.dtype() == expected, op, ": ", what, " is ", t.dtype(), ", expected ", expected);
}

void check_same_device(const char* op, const char* what, const Tensor& t, Device expected) {
  TARE_CHECK(t.device() == expected, op, ": ", what, " is on ", t.device(), ", expected ", expected);
}

void check_contiguous(const char* op, const char* what, const Tensor& t) {
  TARE_CHECK(t.is_contiguous(), op, ": ", what, " of shape ", t.shape(), " with strides ", t.strides(),
             " must be contiguous");
}

void check_like(const char* op, const char* what, const Tensor& t, const Tensor& model) {
  check_same_shape(op, what, t, model.shape());
  check_same_dtype(op, what, t, model.dtype());
  check_same_device(op, what, t, model.device());
}

void check_floating(const char* op, const char* what, const Tensor& t) {
  TARE_CHECK(t.defined(), op, ": ", what, " is undefined");
  TARE_CHECK(is_floating(t.dtype()), op, ": ", what, " is ", t.dtype(), ", expected a floating dtype");
}

}  // namespace tare::kernels
