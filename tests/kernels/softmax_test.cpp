// SPDX-License-Identifier: Apache-2.0
// Softmax against its reference.
#include "tare/kernels/softmax.h"

#include <gtest/gtest.h>

#include "tare/core/error.h"

#include "tests/kernels/softmax_cases.h"

namespace tare::test {
namespace {

TARE_TEST_OP_CASES(Softmax, softmax_cases());

TEST(Softmax, works_in_place) {
  const Values x = rounded_to(DType::f32, normal()(4 * 17, 3));
  Tensor t = tensor_of(x, {4, 17}, DType::f32);
  kernels::softmax_forward(t, t);
  expect_close(t, ref::softmax_forward(x, 4, 17));
}

TEST(Softmax, names_what_is_wrong) {
  const Tensor x = Tensor::zeros({2, 3});
  Tensor y = Tensor::zeros({2, 4});
  try {
    kernels::softmax_forward(x, y);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("softmax_forward: y has shape (2, 4), expected (2, 3)"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace tare::test
