// SPDX-License-Identifier: Apache-2.0
// DLPack: the structure's layout, what a consumer finds in it, and what is made of a producer's.
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>  // the official types, where they are installed
#endif

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/dlpack.h"
#include "tare/core/dlpack_abi.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

// The binary interface on 64-bit systems, of DLPack 0.2 to 1.x.
static_assert(sizeof(DLDevice) == 8 && offsetof(DLDevice, device_id) == 4);
static_assert(sizeof(DLDataType) == 4 && offsetof(DLDataType, bits) == 1 && offsetof(DLDataType, lanes) == 2);
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16);
static_assert(offsetof(DLTensor, dtype) == 20 && offsetof(DLTensor, shape) == 24);
static_assert(offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48);
static_assert(offsetof(DLManagedTensor, deleter) == 56);

// A producer that is not Tare: memory, shape and strides of its own, and a count of its deleter's calls.
struct Producer {
  explicit Producer(std::vector<int64_t> shape_, std::vector<int64_t> strides_ = {})
      : shape(std::move(shape_)), strides(std::move(strides_)) {
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = float(i);
    managed.dl_tensor.data = memory.data();
    managed.dl_tensor.device.device_type = decltype(DLDevice::device_type)(kDlpackCpu);
    managed.dl_tensor.ndim = int32_t(shape.size());
    managed.dl_tensor.dtype = {kDlpackFloat, 32, 1};
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  std::vector<float> memory = std::vector<float>(64);
  std::vector<int64_t> shape, strides;
  int deleted = 0;
  DLManagedTensor managed{};
};

class EveryDtype : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Dlpack, EveryDtype,
                         testing::Values(DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64,
                                         DType::i32, DType::u8, DType::boolean),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(EveryDtype, GoesOutAndComesBackOverTheSameMemory) {
  const Tensor t = Tensor::arange(0, 24, 1, {GetParam(), kCpu, {}}).view({2, 3, 4});
  for (const Tensor& view :
       {t, t.transpose(0, 2), t.slice(2, 1, 4, 2), t.select(1, 2).unsqueeze(0).expand({5, 2, 4}),
        t.slice(0, 1, 1), t.select(0, 1).select(0, 1).select(0, 1)}) {
    const Tensor back = from_dlpack(to_dlpack(view));
    EXPECT_EQ(back.dtype(), view.dtype());
    EXPECT_EQ(back.shape(), view.shape());
    EXPECT_EQ(back.strides(), view.strides());
    EXPECT_EQ(back.to_vector<double>(), view.to_vector<double>());
    if (view.numel() > 0) {
      EXPECT_EQ(back.raw(), view.raw());
    }
  }
}

TEST(Dlpack, AConsumerFindsShapeStridesTypeAndMemory) {
  const Tensor t =
      Tensor::arange(0, 12, 1, {DType::bf16, kCpu, {}}).view({3, 4}).transpose(0, 1).slice(0, 1, 3);
  DLManagedTensor* managed = to_dlpack(t);
  const DLTensor& dl = managed->dl_tensor;
  EXPECT_EQ(dl.data, t.raw());
  EXPECT_EQ(dl.byte_offset, 0u);
  EXPECT_EQ(int(dl.device.device_type), 1);
  EXPECT_EQ(dl.ndim, 2);
  EXPECT_EQ(std::vector<int64_t>(dl.shape, dl.shape + 2), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::vector<int64_t>(dl.strides, dl.strides + 2), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(dl.dtype.code, 4);
  EXPECT_EQ(dl.dtype.bits, 16);
  EXPECT_EQ(dl.dtype.lanes, 1);
  managed->deleter(managed);
}

TEST(Dlpack, TheStorageLivesUntilTheConsumersDeleter) {
  const int64_t before = ledger(kCpu).total();
  DLManagedTensor* managed = to_dlpack(Tensor::full({1000}, 7));
  EXPECT_EQ(ledger(kCpu).total(), before + 4000);
  EXPECT_EQ(static_cast<float*>(managed->dl_tensor.data)[999], 7);
  managed->deleter(managed);
  EXPECT_EQ(ledger(kCpu).total(), before);
}

TEST(Dlpack, TheProducersDeleterRunsOnceAfterTheLastView) {
  Producer producer({2, 3});
  {
    Tensor view;
    {
      const Tensor t = from_dlpack(&producer.managed);
      EXPECT_EQ(t.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
      view = t.select(0, 1);
    }
    EXPECT_EQ(producer.deleted, 0);
    EXPECT_EQ(view.to_vector<int64_t>(), (std::vector<int64_t>{3, 4, 5}));
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST(Dlpack, AProducerWithoutADeleterIsFine) {
  Producer producer({4});
  producer.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(&producer.managed).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Dlpack, ByteOffsetAndStridesOfEitherSignAreFollowed) {
  Producer producer({2, 3}, {10, -2});
  producer.managed.dl_tensor.byte_offset = 4 * 9;
  EXPECT_EQ(from_dlpack(&producer.managed).to_vector<int64_t>(), (std::vector<int64_t>{9, 7, 5, 19, 17, 15}));
  Producer repeated({3, 2}, {0, 1});
  EXPECT_EQ(from_dlpack(&repeated.managed).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 0, 1, 0, 1}));
  Producer scalar({});
  scalar.managed.dl_tensor.shape = scalar.managed.dl_tensor.strides = nullptr;
  EXPECT_EQ(from_dlpack(&scalar.managed).item<double>(), 0);
}

TEST(Dlpack, AnEmptyTensorNeedsNoMemory) {
  Producer producer({2, 0, 3});
  producer.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&producer.managed).shape(), (Shape{2, 0, 3}));
}

TEST(Dlpack, PinnedHostMemoryIsCpuMemory) {
  Producer producer({2});
  producer.managed.dl_tensor.device.device_type = decltype(DLDevice::device_type)(kDlpackCudaHost);
  EXPECT_TRUE(from_dlpack(&producer.managed).device().is_cpu());
}

TEST(Dlpack, WhatTareCannotHoldIsAnErrorAndStaysTheCallers) {
  const auto refused = [](auto&& spoil, const std::vector<std::string>& parts) {
    Producer producer({2, 3}, {3, 1});
    spoil(producer.managed.dl_tensor, producer);
    test::expect_error([&] { from_dlpack(&producer.managed); }, parts, __FILE__, __LINE__);
    EXPECT_EQ(producer.deleted, 0);
  };
  refused([](DLTensor& t, Producer&) { t.dtype.bits = 8; }, {"type code 2", "8 bits"});
  refused([](DLTensor& t, Producer&) { t.dtype.code = 5; }, {"type code 5"});
  refused([](DLTensor& t, Producer&) { t.dtype.lanes = 4; }, {"4 lanes"});
  refused([](DLTensor& t, Producer&) { t.device.device_type = decltype(DLDevice::device_type)(10); },
          {"device type 10"});
  refused([](DLTensor& t, Producer&) { t.ndim = 9; }, {"9 dimensions"});
  refused([](DLTensor& t, Producer&) { t.ndim = -1; }, {"-1 dimensions"});
  refused([](DLTensor& t, Producer&) { t.byte_offset = 2; }, {"aligned"});
  refused([](DLTensor& t, Producer&) { t.data = nullptr; }, {"null data"});
  refused([](DLTensor& t, Producer&) { t.shape = nullptr; }, {"null shape for 2 dimensions"});
  refused([](DLTensor&, Producer& p) { p.shape[0] = -2; }, {"(-2, 3)"});
  refused(
      [](DLTensor&, Producer& p) {
        p.shape = {int64_t(1) << 62, 3};
        p.managed.dl_tensor.shape = p.shape.data();
      },
      {"number of elements"});
  refused(
      [](DLTensor&, Producer& p) {
        p.strides[0] = int64_t(1) << 62;
        p.shape[0] = 3;
      },
      {"overflows"});
  EXPECT_ERROR(from_dlpack(nullptr), "null");
  EXPECT_ERROR(to_dlpack(Tensor()), "undefined");
  EXPECT_ERROR(to_dlpack(Tensor::zeros({2}, {DType::f32, kMeta, {}})), "meta");
}

}  // namespace
}  // namespace tare
