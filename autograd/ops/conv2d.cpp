// SPDX-License-Identifier: Apache-2.0
// Convolution of images.
#include "tare/kernels/conv2d.h"

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"

namespace tare {
namespace {

Tensor scratch_of(int64_t bytes, const Tensor& like) {
  return Tensor::empty({bytes}, {DType::u8, like.device(), Category::workspace});
}

}  // namespace

// y = w * x + b, kernels/conv2d.h; dx and dw there too, db = the sum of dy over images and positions
Var conv2d(const Var& x, const Var& w, const Var& bias, const Conv2dOptions& options) {
  const OpScope op("conv2d");
  const kernels::Conv2dSizes sizes = kernels::conv2d_sizes("conv2d", x.shape(), w.shape(), options);
  const Tensor images = x.value().contiguous(), weight = w.value().contiguous();
  Tensor y = Tensor::empty(sizes.y(), {x.dtype(), x.device(), {}});
  {
    Tensor scratch = scratch_of(kernels::conv2d_forward_scratch_bytes(sizes, x.dtype()), y);
    kernels::conv2d_forward(images, weight, bias.defined() ? bias.value().contiguous() : Tensor(), options,
                            scratch, y);
  }
  return record(
      "conv2d", y, {x, w, bias},
      {w.requires_grad() ? images : Tensor(), x.requires_grad() ? weight : Tensor()},
      [sizes](GradOut& out, Saved& saved, const Tensor& dy) {
        const DType dtype = dy.dtype();
        if (out.needs(0)) {
          auto [dx, accum] = out(0);
          Tensor scratch = scratch_of(kernels::conv2d_backward_input_scratch_bytes(sizes, dtype), dy);
          kernels::conv2d_backward_input(dy, saved[1], sizes.options, scratch, dx, accum);
        }
        if (out.needs(1)) {
          auto [dw, accum] = out(1);
          Tensor scratch = scratch_of(kernels::conv2d_backward_weight_scratch_bytes(sizes, dtype), dy);
          kernels::conv2d_backward_weight(dy, saved[0], sizes.options, scratch, dw, accum);
        }
        if (out.needs(2)) {
          auto [db, accum] = out(2);
          Tensor sums = db.view({sizes.O, 1, 1});
          kernels::sum_to(dy, sums, accum);
        }
      });
}

}  // namespace tare
