// SPDX-License-Identifier: Apache-2.0
// The list that `tare bench kernels` runs: gpt2 with batch 4 and 256 positions, so 1,024 tokens of width 768.
#include "tare/bench/kernels.h"
#include "tare/core/tensor.h"
#include "tare/kernels/softmax.h"

namespace tare::bench {
namespace {

using Call = std::function<void()>;

Call softmax_forward_call(const Shape& shape) {
  const Tensor x = Tensor::randn(shape, 1);
  return [x, y = Tensor::empty_like(x)]() mutable { kernels::softmax_forward(x, y); };
}

Call softmax_backward_call(const Shape& shape) {
  const Tensor y = Tensor::full(shape, 0.01), dy = Tensor::randn(shape, 1);
  return [y, dy, dx = Tensor::empty_like(y)]() mutable { kernels::softmax_backward(y, dy, dx, Accum::set); };
}

}  // namespace

std::vector<KernelCase> kernel_cases() {
  const Shape scores{4 * 12 * 256, 256};
  return {
      {"softmax_forward/12288x256", [=] { return softmax_forward_call(scores); }},
      {"softmax_backward/12288x256", [=] { return softmax_backward_call(scores); }},
  };
}

}  // namespace tare::bench
