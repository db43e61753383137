// SPDX-License-Identifier: Apache-2.0
// Seeded test values and the tensors made of them. The generator is our own, apart from the product's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tare/core/tensor.h"

#include "tests/support/compare.h"

namespace tare::test {

// Makes n values from a seed.
using Maker = std::function<Values(int64_t n, uint64_t seed)>;

Maker normal(double mean = 0, double std = 1);
Maker uniform(double low, double high);
Maker indices(int64_t high);       // integers in [0, high)
Maker mask(double share_of_ones);  // 0 or 1
Maker constant(double value);
Maker given(Values values);                           // these, repeated if n is larger
Maker with(Maker make, std::vector<double> special);  // the first elements replaced by these (as many as fit)

// Nearest value of the dtype, for each.
Values rounded_to(DType dtype, Values values);

// A contiguous tensor of its own with these values, rounded to the dtype.
Tensor tensor_of(const Values& values, const Shape& shape, DType dtype);

// How a tensor's elements lie in memory; the values seen through it are the same.
enum class Layout { contiguous, reversed_axes, padded_rows, every_second };
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::reversed_axes, Layout::padded_rows,
                                      Layout::every_second};
const char* name_of(Layout layout);
// A view with this layout and the values of t; the memory between its elements is NaN (or ones).
Tensor with_layout(const Tensor& t, Layout layout);

}  // namespace tare::test
