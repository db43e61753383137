// SPDX-License-Identifier: Apache-2.0
// Tensors on a CUDA device: the caching allocator over cudaMalloc, the ledger, copies to and from the device.
#include "tare/core/allocator.h"

#include <gtest/gtest.h>

#include "tare/core/cuda/devices.h"
#include "tare/core/devices.h"
#include "tare/core/ledger.h"
#include "tare/core/tensor.h"

#include "tests/simt/cuda_cases.h"

namespace tare::test {
namespace {

TEST(CudaTensor, goes_to_the_device_and_back_unchanged) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8}) {
    const Tensor host = Tensor::arange(0, 60, 1, {dtype, kCpu, {}}).view({3, 4, 5});
    const Tensor device = host.to(kCuda);
    EXPECT_EQ(device.device(), kCuda);
    EXPECT_EQ(device.dtype(), dtype);
    EXPECT_TRUE(same_bits(device.to(kCpu), host)) << dtype;
  }
}

TEST(CudaTensor, copies_of_other_layouts_and_dtypes_keep_the_values) {
  const Tensor host = Tensor::arange(0, 12, 1, {DType::f32, kCpu, {}}).view({3, 4});
  const Tensor device = host.transpose(0, 1).to(kCuda);
  EXPECT_EQ(device.to(kCpu).to_vector<float>(), host.transpose(0, 1).to_vector<float>());
  Tensor half = Tensor::empty({3, 4}, {DType::bf16, kCuda, {}});
  copy(host, half);
  EXPECT_EQ(half.to_vector<float>(), host.to_vector<float>());
  Tensor again = Tensor::empty({3, 4}, {DType::bf16, kCuda, {}});
  copy(half, again);
  EXPECT_EQ(again.to_vector<float>(), host.to_vector<float>());
}

TEST(CudaTensor, creation_and_filling_work_on_the_device) {
  EXPECT_EQ(Tensor::full({5}, 2.5, {DType::f32, kCuda, {}}).to_vector<float>(), std::vector<float>(5, 2.5f));
  EXPECT_EQ(Tensor::zeros({5}, {DType::f16, kCuda, {}}).to_vector<float>(), std::vector<float>(5, 0.0f));
  EXPECT_EQ(Tensor::full({}, 3, {DType::i64, kCuda, {}}).item<int64_t>(), 3);
}

TEST(CudaTensor, is_charged_to_its_device) {
  const int64_t before = ledger(kCuda).current()[size_t(Category::gradients)];
  const Tensor t = Tensor::empty({100, 10}, {DType::f32, kCuda, Category::gradients});
  EXPECT_EQ(ledger(kCuda).current()[size_t(Category::gradients)], before + 4000);
}

TEST(CudaAllocator, reuses_freed_blocks_and_gives_back_its_cache) {
  CachingAllocator& a = allocator(kCuda);
  const void* first = Tensor::empty({1 << 20}, {DType::f32, kCuda, {}}).raw();
  EXPECT_EQ(Tensor::empty({1 << 20}, {DType::f32, kCuda, {}}).raw(), first);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_GE(a.stats().held, 4 << 20);
  a.release_cache();
  EXPECT_EQ(a.stats().held, 0);
}

TEST(CudaAllocator, says_what_it_holds_when_the_device_is_full) {
  try {
    const Tensor t = Tensor::empty({int64_t{1} << 45}, {DType::f32, kCuda, {}});
    FAIL() << "128 TiB were handed out";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("cuda:0: out of memory: asked for"), std::string::npos) << e.what();
  }
  EXPECT_EQ(Tensor::zeros({2}, {DType::f32, kCuda, {}}).to_vector<float>(), std::vector<float>(2, 0.0f));
}

TEST(CudaDevices, are_listed_and_a_device_that_is_not_there_is_named) {
  EXPECT_EQ(available_devices().size(), 2 + size_t(cuda::devices().count));
  EXPECT_EQ(why_no_cuda(), "");
  try {
    const Tensor t = Tensor::empty({2}, {DType::f32, {DeviceType::cuda, 99}, {}});
    FAIL() << "there is no cuda:99";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("cuda:99: this machine has "), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tare::test
