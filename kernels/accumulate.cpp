// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/accumulate.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

double bytes_touched(const Tensor& src, const Tensor& dst, Accum accum) {
  return double(src.nbytes()) + double(dst.nbytes()) * (accum == Accum::add ? 2 : 1);
}

}  // namespace

void accumulate(const Tensor& src, Tensor& dst, Accum accum) {
  check_floating("accumulate", "src", src);
  check_floating("accumulate", "dst", dst);
  check_same_shape("accumulate", "dst", dst, src.shape());
  check_same_device("accumulate", "dst", dst, src.device());
  const double flops = accum == Accum::add ? double(src.numel()) : 0;
  TARE_DISPATCH_CPU(src.device(), (Cost{flops, bytes_touched(src, dst, accum)}), accumulate(src, dst, accum));
}

void accumulate_scaled(const Tensor& src, const Tensor& scale, Tensor& dst, Accum accum) {
  check_floating("accumulate_scaled", "src", src);
  check_floating("accumulate_scaled", "dst", dst);
  check_same_shape("accumulate_scaled", "dst", dst, src.shape());
  check_same_device("accumulate_scaled", "dst", dst, src.device());
  TARE_CHECK(scale.numel() == 1, "accumulate_scaled: scale has shape ", scale.shape(),
             ", expected one element");
  check_floating("accumulate_scaled", "scale", scale);
  check_same_device("accumulate_scaled", "scale", scale, src.device());
  const double flops = double(src.numel()) * (accum == Accum::add ? 2 : 1);
  TARE_DISPATCH_CPU(src.device(), (Cost{flops, bytes_touched(src, dst, accum)}),
                    accumulate_scaled(src, scale, dst, accum));
}

void sum_to(const Tensor& src, Tensor& dst, Accum accum) {
  check_floating("sum_to", "src", src);
  check_floating("sum_to", "dst", dst);
  check_same_device("sum_to", "dst", dst, src.device());
  TARE_CHECK(broadcast_shapes(src.shape(), dst.shape(), "sum_to") == src.shape(), "sum_to: dst ", dst.shape(),
             " does not broadcast to src ", src.shape());
  TARE_DISPATCH_CPU(src.device(), (Cost{double(src.numel()), bytes_touched(src, dst, accum)}),
                    sum_to(src, dst, accum));
}

}  // namespace tare::kernels
