// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/conv2d.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

DType sum_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// Where the kernel begins, along one axis: places in an image of `extent`.
int64_t places(const char* op, const char* axis, int64_t extent, int64_t kernel, int64_t stride,
               int64_t padding, int64_t dilation) {
  TARE_CHECK(stride > 0 && padding >= 0 && dilation > 0, op, ": ", axis, " has stride ", stride, ", padding ",
             padding, ", dilation ", dilation, "; expected at least 1, 0, 1");
  const int64_t padded = extent + 2 * padding, span = dilation * (kernel - 1) + 1;
  TARE_CHECK(span <= padded, op, ": the kernel spans ", span, " along the ", axis, " of an image that has ",
             padded, " with its padding");
  return (padded - span) / stride + 1;
}

void check_dense(const char* op, const char* what, const Tensor& t, const Shape& shape, const Tensor& model) {
  check_floating(op, what, t);
  check_same_shape(op, what, t, shape);
  check_same_device(op, what, t, model.device());
  check_contiguous(op, what, t);
}

void check_operand(const char* op, const char* what, const Tensor& t, const Shape& shape,
                   const Tensor& model) {
  check_dense(op, what, t, shape, model);
  check_same_dtype(op, what, t, model.dtype());
}

// The gradient of a half-precision operand may be f32.
void check_gradient(const char* op, const char* what, const Tensor& t, const Shape& shape,
                    const Tensor& model) {
  check_dense(op, what, t, shape, model);
  if (!(is_half(model.dtype()) && t.dtype() == DType::f32)) check_same_dtype(op, what, t, model.dtype());
}

void check_scratch(const char* op, const Tensor& scratch, int64_t bytes, const Tensor& model) {
  check_same_device(op, "scratch", scratch, model.device());
  TARE_CHECK(scratch.dtype() == DType::u8 && scratch.is_contiguous() && scratch.numel() >= bytes, op,
             ": scratch has ", scratch.nbytes(), " bytes, expected ", bytes);
}

// Multiply-adds of one product over all positions, two operations each.
double flops_of(const Conv2dSizes& s) {
  return 2.0 * double(s.B) * double(s.O) * double(s.positions()) * double(s.depth());
}

double bytes_of(const Tensor& a, const Tensor& b, const Tensor& out, Accum accum) {
  return double(a.nbytes()) + double(b.nbytes()) + double(out.nbytes()) * (accum == Accum::add ? 2 : 1);
}

// Whole cache lines, so that what follows in the scratch is aligned.
int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Conv2dSizes conv2d_sizes(const char* op, const Shape& x, const Shape& w, const Conv2dOptions& options) {
  TARE_CHECK(x.dim() == 4 && w.dim() == 4, op, ": x has shape ", x, " and w ", w,
             ", expected (B, C, H, W) and (O, C, KH, KW)");
  TARE_CHECK(x[1] == w[1], op, ": x of shape ", x, " has ", x[1], " channels, w of shape ", w, " takes ",
             w[1]);
  TARE_CHECK(w.numel() > 0, op, ": w of shape ", w, " has no elements");
  const auto [stride, padding, dilation] = options;
  return {.B = x[0],
          .C = x[1],
          .H = x[2],
          .W = x[3],
          .O = w[0],
          .KH = w[2],
          .KW = w[3],
          .OH = places(op, "height", x[2], w[2], stride.h, padding.h, dilation.h),
          .OW = places(op, "width", x[3], w[3], stride.w, padding.w, dilation.w),
          .options = options};
}

int64_t conv2d_forward_scratch_bytes(const Conv2dSizes& s, DType dtype) {
  return s.depth() * s.piece() * size_of(dtype);
}

// Columns and one image, as sums.
int64_t conv2d_backward_input_scratch_bytes(const Conv2dSizes& s, DType dtype) {
  const int64_t size = size_of(sum_dtype(dtype));
  return whole_lines(s.depth() * s.piece() * size) + s.C * s.H * s.W * size;
}

// Columns, and all kernels as sums.
int64_t conv2d_backward_weight_scratch_bytes(const Conv2dSizes& s, DType dtype) {
  return whole_lines(s.depth() * s.piece() * size_of(dtype)) + s.O * s.depth() * size_of(sum_dtype(dtype));
}

void conv2d_forward(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv2dOptions& options,
                    Tensor& scratch, Tensor& y) {
  const char* op = "conv2d_forward";
  const Conv2dSizes s = conv2d_sizes(op, x.shape(), w.shape(), options);
  check_operand(op, "x", x, s.x(), x);
  check_operand(op, "w", w, s.w(), x);
  if (bias.defined()) check_operand(op, "bias", bias, {s.O}, x);
  check_operand(op, "y", y, s.y(), x);
  check_scratch(op, scratch, conv2d_forward_scratch_bytes(s, x.dtype()), x);
  const double flops = flops_of(s) + (bias.defined() ? double(y.numel()) : 0);
  const double bytes = bytes_of(x, w, y, Accum::set) + (bias.defined() ? double(bias.nbytes()) : 0);
  TARE_DISPATCH_CPU(x.device(), (Cost{flops, bytes}), conv2d_forward(x, w, bias, s, scratch, y));
}

void conv2d_backward_input(const Tensor& dy, const Tensor& w, const Conv2dOptions& options, Tensor& scratch,
                           Tensor& dx, Accum accum) {
  const char* op = "conv2d_backward_input";
  const Conv2dSizes s = conv2d_sizes(op, dx.shape(), w.shape(), options);
  check_operand(op, "dy", dy, s.y(), dy);
  check_operand(op, "w", w, s.w(), dy);
  check_gradient(op, "dx", dx, s.x(), dy);
  check_scratch(op, scratch, conv2d_backward_input_scratch_bytes(s, dy.dtype()), dy);
  TARE_DISPATCH_CPU(dy.device(), (Cost{flops_of(s), bytes_of(dy, w, dx, accum)}),
                    conv2d_backward_input(dy, w, s, scratch, dx, accum));
}

void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const Conv2dOptions& options, Tensor& scratch,
                            Tensor& dw, Accum accum) {
  const char* op = "conv2d_backward_weight";
  const Conv2dSizes s = conv2d_sizes(op, x.shape(), dw.shape(), options);
  check_operand(op, "dy", dy, s.y(), dy);
  check_operand(op, "x", x, s.x(), dy);
  check_gradient(op, "dw", dw, s.w(), dy);
  check_scratch(op, scratch, conv2d_backward_weight_scratch_bytes(s, dy.dtype()), dy);
  TARE_DISPATCH_CPU(dy.device(), (Cost{flops_of(s), bytes_of(dy, x, dw, accum)}),
                    conv2d_backward_weight(dy, x, s, scratch, dw, accum));
}

}  // namespace tare::kernels
