// SPDX-License-Identifier: Apache-2.0
// AdamW's CUDA twin on the rows of tests/kernels.
#include <gtest/gtest.h>

#include "tests/kernels/adamw_cases.h"
#include "tests/simt/cuda_cases.h"

namespace tare::test {
namespace {

TARE_TEST_CUDA_CASES(AdamW, adamw_cases());

}  // namespace
}  // namespace tare::test
