// SPDX-License-Identifier: Apache-2.0
// The CUDA twins on the rows of the table of kernel cases, wherever cuda:0 is: on a GPU or in the emulator.
#pragma once
#include "tests/support/op_case.h"

namespace tare::test {

inline constexpr Device kCuda{DeviceType::cuda, 0};

// A copy in a cudaMalloc block of its own: one element beyond it is an error. Starts `misalign` elements past
// a 256-byte boundary.
Tensor on_cuda(const Tensor& host, int64_t misalign = 0);
// The same, not initialised.
Tensor empty_on_cuda(const Shape& shape, DType dtype, int64_t misalign = 0);

// Aligned and misaligned: outputs are close to the reference, inputs untouched, and a second run gives the
// same bits.
void expect_cuda_agrees_with_reference(const OpCase& row);

}  // namespace tare::test

// The tests of a table of rows: TARE_TEST_CUDA_CASES(Softmax, softmax_cases());
// clang-format off
#define TARE_TEST_CUDA_CASES(Family, table)                                                                \
  class Family##Cuda : public ::testing::TestWithParam<::tare::test::OpCase> {};                           \
  TEST_P(Family##Cuda, agrees_with_reference) {                                                            \
    ::tare::test::expect_cuda_agrees_with_reference(GetParam());                                           \
  }                                                                                                        \
  INSTANTIATE_TEST_SUITE_P(cases, Family##Cuda, ::testing::ValuesIn(table),                                \
                           [](const auto& info) { return info.param.name; })
// clang-format on
