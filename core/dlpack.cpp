// SPDX-License-Identifier: Apache-2.0
#include "tare/core/dlpack.h"

#include <optional>

#include "tare/core/dlpack_abi.h"
#include "tare/core/error.h"

namespace tare {
namespace {

// What a consumer holds: the structure and all that it points to.
struct Exported {
  Tensor tensor;
  Shape shape;
  Strides strides;
  DLManagedTensor managed;
};

DLDataType dlpack_dtype(DType dtype) {
  const uint8_t bits = uint8_t(8 * size_of(dtype));
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::f16:
      return {kDlpackFloat, bits, 1};
    case DType::bf16:
      return {kDlpackBfloat, bits, 1};
    case DType::i64:
    case DType::i32:
      return {kDlpackInt, bits, 1};
    case DType::u8:
      return {kDlpackUInt, bits, 1};
    case DType::boolean:
      return {kDlpackBool, bits, 1};
  }
  TARE_UNREACHABLE();
}

DLDevice dlpack_device(Device device) {
  switch (device.type) {
    case DeviceType::cpu:
      return {kDlpackCpu, 0};
    case DeviceType::cuda:
      return {kDlpackCuda, device.index};
    case DeviceType::meta:
      break;
  }
  TARE_THROW("to_dlpack: a tensor on ", device, " has no data");
}

DType dtype_from_dlpack(DLDataType type) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    const DLDataType own = dlpack_dtype(dtype);
    if (own.code == type.code && own.bits == type.bits && own.lanes == type.lanes) return dtype;
  }
  TARE_THROW("from_dlpack: Tare has no dtype for type code ", int(type.code), " with ", int(type.bits),
             " bits and ", type.lanes, " lanes");
}

Device device_from_dlpack(DLDevice device) {
  switch (device.device_type) {
    case kDlpackCpu:
    case kDlpackCudaHost:
      return kCpu;
    case kDlpackCuda:
      return {DeviceType::cuda, device.device_id};
  }
  TARE_THROW("from_dlpack: device type ", device.device_type, " is neither CPU nor CUDA");
}

// The elements that a strided tensor reaches, relative to its first: from `first` to `last`.
struct Reach {
  int64_t first = 0, last = 0;
};

Reach reach_of(const Shape& shape, const Strides& strides) {
  Reach reach;
  for (int i = 0; i < shape.dim(); ++i) {
    int64_t& end = strides[i] < 0 ? reach.first : reach.last;
    int64_t span = 0;
    TARE_CHECK(
        !__builtin_mul_overflow(strides[i], shape[i] - 1, &span) && !__builtin_add_overflow(end, span, &end),
        "from_dlpack: shape ", shape, " with strides ", strides, " overflows 64 bits");
  }
  return reach;
}

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& t) {
  TARE_CHECK(t.defined(), "to_dlpack: an undefined tensor has no data");
  const DLDevice device = dlpack_device(t.device());
  auto* exported = new Exported{t, t.shape(), t.strides(), {}};
  DLTensor& dl = exported->managed.dl_tensor;
  dl.data = const_cast<void*>(t.raw());
  dl.device = device;
  dl.ndim = t.dim();
  dl.dtype = dlpack_dtype(t.dtype());
  dl.shape = t.dim() > 0 ? &exported->shape[0] : nullptr;
  dl.strides = t.dim() > 0 ? &exported->strides[0] : nullptr;
  dl.byte_offset = 0;
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &exported->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  TARE_CHECK(managed, "from_dlpack: null");
  const DLTensor& dl = managed->dl_tensor;
  const DType dtype = dtype_from_dlpack(dl.dtype);
  const Device device = device_from_dlpack(dl.device);
  TARE_CHECK(dl.ndim >= 0 && dl.ndim <= kMaxDims, "from_dlpack: ", dl.ndim,
             " dimensions; a tensor has at most ", kMaxDims);
  TARE_CHECK(dl.shape || dl.ndim == 0, "from_dlpack: null shape for ", dl.ndim, " dimensions");
  const Shape shape{std::span<const int64_t>(dl.shape, size_t(dl.ndim))};
  const bool empty = shape.numel() == 0;  // checks the extents
  const Strides strides =
      dl.strides ? Strides{std::span<const int64_t>(dl.strides, size_t(dl.ndim))} : contiguous_strides(shape);
  const Reach reach = empty ? Reach{0, -1} : reach_of(shape, strides);
  int64_t bytes = 0;
  TARE_CHECK(!__builtin_mul_overflow(reach.last - reach.first + 1, size_of(dtype), &bytes),
             "from_dlpack: shape ", shape, " with strides ", strides, " overflows 64 bits");
  TARE_CHECK(dl.data || empty, "from_dlpack: null data for shape ", shape);
  char* first = static_cast<char*>(dl.data);
  if (!empty) first += int64_t(dl.byte_offset) + reach.first * size_of(dtype);
  TARE_CHECK(reinterpret_cast<uintptr_t>(first) % uintptr_t(size_of(dtype)) == 0,
             "from_dlpack: the data is not aligned to ", dtype);
  // Nothing below can fail but for want of memory.
  auto deleter = [managed] {
    if (managed->deleter) managed->deleter(managed);
  };
  const Tensor whole = Tensor::from_blob(first, {reach.last - reach.first + 1}, dtype, deleter, device);
  return whole.as_strided(shape, strides, -reach.first);
}

}  // namespace tare
