// SPDX-License-Identifier: Apache-2.0
// Comparison of a result with what is wanted, and the proof that the comparison notices a spoiled result.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "tare/core/tensor.h"

#include "tests/support/tolerance.h"

namespace tare::test {

using Values = std::vector<double>;  // of a tensor, row-major

struct Difference {
  double max_units = 0;  // see Tolerance
  double rms_units = 0;
  int64_t worst =
      -1;  // the element with max_units, or the first that is NaN or infinite where it must not be
  bool special_agree =
      true;  // NaN and infinities stand at the same places; beyond the dtype's range is infinite
};

// got and want have one size. `dtype` is what got was stored in: it sets the unit.
Difference difference(const Values& got, const Values& want, DType dtype);

// Success when got is within the tolerance of want; the message names the worst element.
::testing::AssertionResult is_close(const Values& got, const Values& want, DType dtype, Tolerance tolerance);
::testing::AssertionResult is_close(const Tensor& got, const Values& want, Tolerance tolerance);
::testing::AssertionResult is_close(const Tensor& got, const Values& want);  // with tolerance(got.dtype())

// Success when is_close would refuse `want` scaled by noticed_scaling(), and `want` with a single element off
// by the rms of all. An empty want passes.
::testing::AssertionResult notices_spoiling(const Values& want, DType dtype, Tolerance tolerance);

// is_close and notices_spoiling as expectations.
void expect_close(const Tensor& got, const Values& want, Tolerance tolerance);
void expect_close(const Tensor& got, const Values& want);

double rms(const Values& values);  // over the finite ones
// |a - b| / |b| in L2 over all elements; 0 when both are zero.
double relative_l2(const Values& a, const Values& b);
double relative_l2(const Tensor& a, const Tensor& b);

// Same dtype, shape and bits (NaN included).
::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b);

}  // namespace tare::test
