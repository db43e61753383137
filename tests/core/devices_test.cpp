// SPDX-License-Identifier: Apache-2.0
// What a program sees of the devices on the machine it happens to run on.
#include "tare/core/devices.h"

#include <gtest/gtest.h>

#include "tare/core/error.h"
#include "tare/core/tensor.h"

namespace tare {
namespace {

TEST(Devices, CpuAndMetaAreAlwaysThere) {
  const auto devices = available_devices();
  ASSERT_GE(devices.size(), 2u);
  EXPECT_EQ(devices[0], kCpu);
  EXPECT_EQ(devices[1], kMeta);
  EXPECT_EQ(why_no_cuda().empty(), devices.size() > 2);
}

TEST(Devices, WithoutCudaATensorThereIsAnErrorThatSaysWhy) {
  if (why_no_cuda().empty()) GTEST_SKIP() << "this machine has a CUDA device";
  for (int repeat = 0; repeat < 2; ++repeat) {
    try {
      const Tensor t = Tensor::empty({2}, {DType::f32, {DeviceType::cuda, 0}, {}});
      FAIL() << "a tensor on cuda:0";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("cuda:0"), std::string::npos) << text;
      EXPECT_NE(text.find(why_no_cuda()), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace tare
