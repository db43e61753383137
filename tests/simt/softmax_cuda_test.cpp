// SPDX-License-Identifier: Apache-2.0
// Softmax's CUDA twins on the rows of tests/kernels.
#include <gtest/gtest.h>

#include "tests/kernels/softmax_cases.h"
#include "tests/simt/cuda_cases.h"

namespace tare::test {
namespace {

TARE_TEST_CUDA_CASES(Softmax, softmax_cases());

TEST(SoftmaxCuda, works_in_place) {
  for (const int64_t C : {17, 64, 1032, 1033}) {
    const Values x = rounded_to(DType::f32, normal()(4 * C, 3));
    Tensor t = on_cuda(tensor_of(x, {4, C}, DType::f32));
    kernels::softmax_forward(t, t);
    expect_close(t.to(kCpu), ref::softmax_forward(x, 4, C));
  }
}

}  // namespace
}  // namespace tare::test
