// SPDX-License-Identifier: Apache-2.0
// The same rows on a real GPU. This program links the product as users do, with the static CUDA runtime: it
// must start on a machine without a driver, say what is missing, and leave with the code that CTest counts as
// skipped.
#include <cstdio>

#include <gtest/gtest.h>

#include "tare/core/devices.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  testing::InitGoogleTest(&argc, argv);
  if (!tare::why_no_cuda().empty()) {
    std::printf("gpu skipped: no CUDA device: %s\n", tare::why_no_cuda().c_str());
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
