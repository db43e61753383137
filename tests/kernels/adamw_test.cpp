// SPDX-License-Identifier: Apache-2.0
// AdamW's multi-tensor update against its reference.
#include <gtest/gtest.h>

#include "tests/kernels/adamw_cases.h"

namespace tare::test {
namespace {

TARE_TEST_OP_CASES(AdamW, adamw_cases());

}  // namespace
}  // namespace tare::test
