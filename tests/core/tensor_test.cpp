// SPDX-License-Identifier: Apache-2.0
// Tensors: creation, conversion between all dtypes and layouts, single elements, wrapped memory, printing,
// meta.
#include "tare/core/tensor.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/parallel.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

constexpr DType kAll[] = {DType::f64, DType::f32, DType::f16, DType::bf16,
                          DType::i64, DType::i32, DType::u8,  DType::boolean};

std::string text_of(const Tensor& t) {
  std::ostringstream os;
  os << t;
  return os.str();
}

TEST(DTypes, NamesSizesAndKindsAgree) {
  const std::vector<std::string> names = {"f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool"};
  const std::vector<int64_t> sizes = {8, 4, 2, 2, 8, 4, 1, 1};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(name_of(kAll[i]), names[i]);
    EXPECT_EQ(size_of(kAll[i]), sizes[i]);
    EXPECT_EQ(is_floating(kAll[i]), i < 4);
    EXPECT_EQ(is_half(kAll[i]), i == 2 || i == 3);
    EXPECT_EQ(dtype_from_name(names[i]), kAll[i]);
    visit_all(kAll[i], [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, kAll[i]);
      EXPECT_EQ(int64_t(sizeof(T)), sizes[i]);
    });
  }
  EXPECT_FALSE(dtype_from_name("float"));
  EXPECT_ERROR(visit_floating(DType::i32, "some_op", []<class T>() {}), "some_op", "floating", "i32");
  EXPECT_ERROR(visit_index(DType::f16, "some_op", []<class T>() {}), "some_op", "integer", "f16");
}

TEST(Devices, NamesReadBack) {
  for (const char* name : {"cpu", "meta", "cuda:0", "cuda:12"}) EXPECT_EQ(device_from_name(name).str(), name);
  EXPECT_EQ(device_from_name("cuda").str(), "cuda:0");
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "CPU"})
    EXPECT_ERROR(device_from_name(name), "unknown device");
}

TEST(TensorCreation, ValuesShapesAndDtypes) {
  for (const DType dtype : kAll) {
    const Tensor zeros = Tensor::zeros({2, 3}, {dtype, kCpu, {}});
    EXPECT_EQ(zeros.dtype(), dtype);
    EXPECT_EQ(zeros.to_vector<double>(), std::vector<double>(6, 0));
    EXPECT_EQ(Tensor::full({3}, 1, {dtype, kCpu, {}}).to_vector<double>(), std::vector<double>(3, 1));
    EXPECT_EQ(Tensor::zeros_like(zeros.transpose(0, 1)).strides(), (Strides{2, 1}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(zeros.raw()) % 64, 0u);
  }
  EXPECT_EQ(Tensor::arange(5, 0, -2).to_vector<int64_t>(), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_EQ(Tensor::arange(0, 1, 0.25, {DType::f32, kCpu, {}}).to_vector<float>(),
            (std::vector<float>{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(Tensor::arange(3, 3).numel(), 0);
  EXPECT_EQ(Tensor::arange(3, 0).numel(), 0);
  EXPECT_ERROR(Tensor::arange(0, 1, 0), "arange", "step 0");
  EXPECT_ERROR(Tensor::full({1}, 256, {DType::u8, kCpu, {}}), "256", "u8");
  EXPECT_ERROR(Tensor::full({1}, 0x1p63, {DType::i64, kCpu, {}}), "i64");
  EXPECT_EQ(Tensor::full({1}, -0x1p63, {DType::i64, kCpu, {}}).item<int64_t>(), INT64_MIN);
  EXPECT_ERROR(Tensor::arange(0, 1, 0.25), "step 0.25", "i64", "floating dtype");
  EXPECT_ERROR(Tensor::arange(0, INFINITY), "arange");
  EXPECT_ERROR(Tensor::arange(0, 1e300), "arange");
  EXPECT_ERROR(Tensor::from_vector<float>({1, 2}, {3}), "from_vector", "2 values", "(3)");
}

TEST(TensorFill, WritesThroughStridesAndKeepsTheSignOfZero) {
  Tensor t = Tensor::zeros({3, 4}, {DType::i32, kCpu, {}});
  Tensor column = t.select(1, 2);
  fill(column, 7);
  Tensor corner = t.slice(0, 0, 2).slice(1, 0, 2).transpose(0, 1);
  fill(corner, 5);
  EXPECT_EQ(t.to_vector<int64_t>(), (std::vector<int64_t>{5, 5, 7, 0, 5, 5, 7, 0, 0, 0, 7, 0}));
  EXPECT_TRUE(std::signbit(Tensor::full({1}, -0.0).item<double>()));
  Tensor repeated = t.select(0, 0).unsqueeze(0).expand({2, 4});
  EXPECT_ERROR(fill(repeated, 1), "fill", "repeats");
  EXPECT_ERROR(copy(Tensor::zeros({2, 4}), repeated), "copy", "repeats");
}

// The rules of conversion, one value at a time.
template <class D, class S> D expected(S value) {
  if constexpr (std::is_same_v<D, bool>)
    return double(value) != 0;
  else if constexpr (std::is_same_v<D, f16> || std::is_same_v<D, bf16>)
    return D(float(double(value)));
  else
    return D(double(value));
}

TEST(TensorCopy, EveryDtypePairAndLayoutConverts) {
  set_num_threads(2);
  const std::vector<double> values = {0,   1,  2.5, 3.75, 100,  127,
                                      0.5, 64, 17,  33,   1.25, 200};  // exact in every floating dtype
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      const Tensor source = Tensor::from_vector(values, {3, 4}).to(from);
      visit_all(from, [&]<class S>() {
        visit_all(to, [&]<class D>() {
          std::vector<D> want;
          for (int64_t i = 0; i < 12; ++i) want.push_back(expected<D>(source.data<S>()[i]));
          const auto value = [&](int64_t r, int64_t c) { return double(want[size_t(r * 4 + c)]); };
          const Tensor dense = source.to(to);
          Tensor strided = Tensor::full({4, 6}, 99, {to, kCpu, {}});
          Tensor target =
              strided.slice(0, 0, 4).slice(1, 1, 6, 2).transpose(0, 1);  // (3, 4), strides 2 and 6
          copy(source, target);
          Tensor turned = Tensor::empty({4, 3}, {to, kCpu, {}});
          copy(source.transpose(0, 1), turned);
          for (int64_t r = 0; r < 3; ++r) {
            for (int64_t c = 0; c < 4; ++c) {
              EXPECT_EQ(dense.select(0, r).select(0, c).item<double>(), value(r, c)) << from << " " << to;
              EXPECT_EQ(target.select(0, r).select(0, c).item<double>(), value(r, c)) << from << " " << to;
              EXPECT_EQ(turned.select(0, c).select(0, r).item<double>(), value(r, c)) << from << " " << to;
            }
          }
          const double untouched = Tensor::full({1}, 99, {to, kCpu, {}}).item<double>();
          for (int64_t r = 0; r < 4; ++r)
            for (const int64_t c : {0, 2, 4})
              EXPECT_EQ(strided.select(0, r).select(0, c).item<double>(), untouched);
        });
      });
    }
  }
}

TEST(TensorCopy, LargeTensorsAreSharedAmongThreadsWhole) {
  set_num_threads(3);
  const Tensor t = Tensor::arange(0, 300 * 1000, 1, {DType::i32, kCpu, {}}).view({300, 1000});
  const Tensor turned = t.transpose(0, 1).contiguous();
  const Tensor wide = t.to(DType::i64);
  for (int64_t i = 0; i < 300; i += 7)
    for (int64_t j = 0; j < 1000; j += 13) {
      ASSERT_EQ(turned.data<int32_t>()[j * 300 + i], i * 1000 + j);
      ASSERT_EQ(wide.data<int64_t>()[i * 1000 + j], i * 1000 + j);
    }
}

TEST(TensorCopy, ErrorsNameShapesAndDevices) {
  Tensor three = Tensor::zeros({3});
  EXPECT_ERROR(copy(Tensor::zeros({2}), three), "copy", "(2)", "(3)");
  EXPECT_ERROR(Tensor::zeros({2}, {DType::f32, kMeta, {}}).to(kCpu), "meta", "no data");
  Tensor undefined;
  EXPECT_ERROR(copy(undefined, three), "undefined");
  EXPECT_ERROR(three.to(Device{DeviceType::cuda, 0}), "CUDA");
}

TEST(TensorItem, IntegersOf64BitsStayExact) {
  for (const int64_t value : {(int64_t(1) << 53) + 1, INT64_MAX, INT64_MIN, -(int64_t(1) << 53) - 1}) {
    const Tensor t = Tensor::from_vector<int64_t>({value}, {1});
    EXPECT_EQ(t.item<int64_t>(), value);
    EXPECT_EQ(t.to_vector<int64_t>()[0], value);
    EXPECT_TRUE(text_of(t).ends_with(std::to_string(value).append("]"))) << text_of(t);
    EXPECT_EQ(t.item<double>(), double(value));
    EXPECT_TRUE(t.item<bool>());
  }
  EXPECT_EQ(Tensor::full({}, 2.75, {DType::f16, kCpu, {}}).item<int64_t>(), 2);
  EXPECT_EQ(Tensor::full({}, 2.75, {DType::bf16, kCpu, {}}).item<float>(), 2.75f);
  EXPECT_FALSE(Tensor::zeros({1, 1}).item<bool>());
  EXPECT_ERROR(Tensor::zeros({2}).item<double>(), "item", "(2)");
}

TEST(TensorData, TypesAreCheckedAndOnlyWritesCount) {
  Tensor t = Tensor::zeros({2});
  const uint32_t version = t.version();
  EXPECT_ERROR(t.data<double>(), "f64", "f32");
  EXPECT_ERROR(t.mutable_data<int32_t>(), "i32", "f32");
  t.data<float>();
  t.raw();
  EXPECT_EQ(t.version(), version);
  t.mutable_data<float>()[0] = 1;
  EXPECT_EQ(t.version(), version + 1);
  Tensor view = t.slice(0, 1, 2);
  fill(view, 3);
  EXPECT_EQ(t.version(), version + 2) << "views share the counter";
  Tensor undefined;
  EXPECT_ERROR(undefined.mutable_data<float>(), "undefined");
  EXPECT_ERROR(undefined.raw(), "undefined");
}

TEST(TensorFromBlob, TheDeleterRunsOnceAfterTheLastView) {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5};
  int deleted = 0;
  const int64_t charged = ledger(kCpu).total();
  {
    Tensor view;
    {
      const Tensor t = Tensor::from_blob(memory.data(), {2, 3}, DType::f32, [&] { ++deleted; });
      EXPECT_EQ(t.raw(), memory.data());
      EXPECT_EQ(ledger(kCpu).total(), charged) << "memory of others is not charged";
      view = t.transpose(0, 1).select(0, 2);
    }
    EXPECT_EQ(deleted, 0);
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{2, 5}));
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_ERROR(Tensor::from_blob(nullptr, {1}, DType::f32, [&] { ++deleted; }), "null");
  EXPECT_ERROR(
      Tensor::from_blob(reinterpret_cast<char*>(memory.data()) + 2, {1}, DType::f32, [&] { ++deleted; }),
      "aligned", "f32");
  EXPECT_ERROR(Tensor::from_blob(memory.data(), {int64_t(1) << 62}, DType::f32, [&] { ++deleted; }),
               "too large");
  EXPECT_EQ(deleted, 1) << "after an Error the memory is the caller's";
  EXPECT_EQ(Tensor::from_blob(nullptr, {0, 3}, DType::f32).numel(), 0);
}

TEST(TensorPrint, LooksLikeNumPy) {
  EXPECT_EQ(text_of(Tensor()), "Tensor(undefined)");
  EXPECT_EQ(text_of(Tensor::arange(0, 6).view({2, 3})), "Tensor((2, 3), i64, cpu)\n[[0, 1, 2],\n [3, 4, 5]]");
  EXPECT_EQ(text_of(Tensor::arange(0, 8, 1, {DType::u8, kCpu, {}})),
            "Tensor((8), u8, cpu)\n[0, 1, 2, ..., 5, 6, 7]");
  EXPECT_EQ(text_of(Tensor::arange(0, 7, 1, {DType::f32, kCpu, {}})),
            "Tensor((7), f32, cpu)\n[0, 1, 2, 3, 4, 5, 6]");
  EXPECT_EQ(text_of(Tensor::full({}, 1, {DType::boolean, kCpu, {}})), "Tensor((), bool, cpu)\ntrue");
  EXPECT_EQ(text_of(Tensor::full({1}, 0.1, {DType::f64, kCpu, {}})), "Tensor((1), f64, cpu)\n[0.1]");
  EXPECT_EQ(text_of(Tensor::full({1}, -HUGE_VAL)), "Tensor((1), f32, cpu)\n[-inf]");
  EXPECT_EQ(text_of(Tensor::zeros({0, 3})), "Tensor((0, 3), f32, cpu)\n[]");
  EXPECT_EQ(text_of(Tensor::zeros({2}, {DType::f16, kMeta, {}})), "Tensor((2), f16, meta)");
  std::ostringstream os;
  os.precision(3);
  os << Tensor::zeros({1});
  EXPECT_EQ(os.precision(), 3) << "the stream's format changed";
}

TEST(TensorMeta, HasShapesButNoData) {
  Tensor t = Tensor::full({1 << 20, 1 << 20, 1 << 10}, 3, {DType::f32, kMeta, {}});  // 4 PiB
  EXPECT_EQ(t.nbytes(), int64_t(1) << 52);
  EXPECT_ERROR(t.raw(), "meta");
  EXPECT_ERROR(t.item<float>(), "item");
  const uint32_t version = t.version();
  fill(t, 1);
  EXPECT_EQ(t.version(), version + 1) << "a write counts on meta too";
  const Tensor copied = t.transpose(0, 2).contiguous();
  EXPECT_TRUE(copied.device().is_meta());
  EXPECT_EQ(copied.shape(), (Shape{1 << 10, 1 << 20, 1 << 20}));
  EXPECT_EQ(Tensor::zeros({3}).to(kMeta).shape(), Shape{3});
}

}  // namespace
}  // namespace tare
