// SPDX-License-Identifier: Apache-2.0
#include "tests/simt/cuda_cases.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tare/core/cuda/error.h"

namespace tare::test {
namespace {

// A row's operands on the device, after the call.
struct CudaCall {
  Tensors host_in, in, out;

  CudaCall(const OpCase& row, const Operands& values, int64_t misalign) {
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      const Operand& o = row.inputs[i];
      host_in.push_back(tensor_of(values.in[i], o.shape, o.dtype.value_or(values.dtype)));
      in.push_back(on_cuda(host_in.back(), misalign));
    }
    for (size_t i = 0; i < row.outputs.size(); ++i) {
      const Operand& o = row.outputs[i];
      const DType dtype = o.dtype.value_or(values.dtype);
      out.push_back(o.make ? on_cuda(tensor_of(values.before[i], o.shape, dtype), misalign)
                           : empty_on_cuda(o.shape, dtype, misalign));
    }
    row.run(in, out);
  }
};

void expect_agrees(const OpCase& row, DType dtype, int64_t misalign) {
  const Operands values = draw_operands(row, dtype);
  const std::vector<Values> want = row.ref(values);
  const CudaCall call(row, values, misalign);
  ASSERT_EQ(want.size(), call.out.size());
  for (size_t i = 0; i < call.in.size(); ++i)
    EXPECT_TRUE(same_bits(call.in[i].to(kCpu), call.host_in[i])) << "input " << row.inputs[i].name;
  for (size_t i = 0; i < call.out.size(); ++i) {
    const Tensor out = call.out[i].to(kCpu);
    expect_close(out, want[i], tolerance(out.dtype()).looser(row.loosen, row.loosen_reason));
  }
  if (misalign > 0) return;
  const CudaCall again(row, values, misalign);
  for (size_t i = 0; i < call.out.size(); ++i)
    EXPECT_TRUE(same_bits(call.out[i].to(kCpu), again.out[i].to(kCpu))) << "output " << row.outputs[i].name;
}

}  // namespace

Tensor empty_on_cuda(const Shape& shape, DType dtype, int64_t misalign) {
  const int64_t before = misalign * size_of(dtype), bytes = shape.numel() * size_of(dtype);
  void* block = nullptr;
  TARE_CUDA(cudaMalloc(&block, size_t(before + bytes)));
  return Tensor::from_blob(
      static_cast<char*>(block) + before, shape, dtype, [block] { cudaFree(block); }, kCuda);
}

Tensor on_cuda(const Tensor& host, int64_t misalign) {
  Tensor t = empty_on_cuda(host.shape(), host.dtype(), misalign);
  copy(host, t);
  return t;
}

void expect_cuda_agrees_with_reference(const OpCase& row) {
  constexpr size_t kOffsets = 2;  // aligned and not: vectors or single elements
  for (DType dtype : row.dtypes)
    for (size_t i = 0; i < std::min(kOffsets, row.misalign.size()); ++i) {
      const int64_t misalign = row.misalign[i];
      SCOPED_TRACE(std::string(name_of(dtype)) + ", " + std::to_string(misalign) + " elements off alignment");
      expect_agrees(row, dtype, misalign);
    }
}

}  // namespace tare::test
