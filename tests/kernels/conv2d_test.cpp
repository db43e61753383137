// SPDX-License-Identifier: Apache-2.0
// Convolution's kernels against the reference: odd sizes, uneven strides, padding, dilation, several pieces.
#include "tare/kernels/conv2d.h"

#include <gtest/gtest.h>

#include "tests/ref/conv2d.h"
#include "tests/support/expect_error.h"
#include "tests/support/guarded.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

using kernels::Conv2dSizes;
using Problem = ref::Conv2d;

std::string name_of(const Problem& p) {
  std::string name = "p";
  for (const int64_t n : {p.B, p.C, p.H, p.W, p.O, p.KH, p.KW, p.stride_h, p.stride_w, p.padding_h,
                          p.padding_w, p.dilation_h, p.dilation_w}) {
    name += '_';
    name += std::to_string(n);
  }
  return name;
}

Conv2dOptions options_of(const Problem& p) {
  return {.stride = {p.stride_h, p.stride_w},
          .padding = {p.padding_h, p.padding_w},
          .dilation = {p.dilation_h, p.dilation_w}};
}

Shape x_shape(const Problem& p) { return {p.B, p.C, p.H, p.W}; }
Shape w_shape(const Problem& p) { return {p.O, p.C, p.KH, p.KW}; }
Shape y_shape(const Problem& p) { return {p.B, p.O, p.OH(), p.OW()}; }
Conv2dSizes sizes_of(const Problem& p) {
  return kernels::conv2d_sizes("test", x_shape(p), w_shape(p), options_of(p));
}
double flops_of(const Problem& p) { return 2.0 * double(y_shape(p).numel()) * double(p.C * p.KH * p.KW); }

// Guarded, and full of NaN, where there is memory: a kernel may trust nothing in it.
template <class F> void with_scratch(int64_t bytes, const Tensor& like, F&& f) {
  if (like.device() == kMeta) {
    Tensor scratch = Tensor::empty({bytes}, {DType::u8, kMeta, {}});
    return f(scratch);
  }
  Guarded guarded({bytes}, DType::u8);
  Tensor& scratch = guarded.tensor();
  f(scratch);
  EXPECT_TRUE(guarded.guards_intact());
}

OpCase forward(const Problem& p, bool bias) {
  OpCase row{.name = "forward_" + name_of(p) + (bias ? "_bias" : ""),
             .inputs = {{"x", x_shape(p), normal()}, {"w", w_shape(p), normal()}},
             .outputs = {{"y", y_shape(p)}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   with_scratch(kernels::conv2d_forward_scratch_bytes(sizes_of(p), in[0].dtype()), in[0],
                                [&](Tensor& scratch) {
                                  kernels::conv2d_forward(in[0], in[1], bias ? in[2] : Tensor(),
                                                          options_of(p), scratch, out[0]);
                                });
                 },
             .ref = [=](const Operands& a) -> std::vector<Values> {
               return {ref::conv2d_forward(p, a.in[0], a.in[1], bias ? a.in[2] : Values{})};
             },
             .flops = flops_of(p) + (bias ? double(y_shape(p).numel()) : 0),
             .any_threads_same_bits = false};
  if (bias) row.inputs.push_back({"bias", {p.O}, normal()});
  return row;
}

OpCase backward_input(const Problem& p, Accum accum) {
  const bool add = accum == Accum::add;
  OpCase row{.name = "backward_input_" + name_of(p) + (add ? "_add" : "_set"),
             .inputs = {{"dy", y_shape(p), normal()}, {"w", w_shape(p), normal()}},
             .outputs = {{"dx", x_shape(p)}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   with_scratch(kernels::conv2d_backward_input_scratch_bytes(sizes_of(p), in[0].dtype()),
                                in[0], [&](Tensor& scratch) {
                                  kernels::conv2d_backward_input(in[0], in[1], options_of(p), scratch, out[0],
                                                                 accum);
                                });
                 },
             .ref = [=](const Operands& a) -> std::vector<Values> {
               return {plus(ref::conv2d_backward_input(p, a.in[0], a.in[1]), a.before[0])};
             },
             .flops = flops_of(p),
             .any_threads_same_bits = false};
  if (add) row.outputs[0].make = normal();
  return row;
}

OpCase backward_weight(const Problem& p, Accum accum) {
  const bool add = accum == Accum::add;
  OpCase row{.name = "backward_weight_" + name_of(p) + (add ? "_add" : "_set"),
             .inputs = {{"dy", y_shape(p), normal()}, {"x", x_shape(p), normal()}},
             .outputs = {{"dw", w_shape(p)}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   with_scratch(kernels::conv2d_backward_weight_scratch_bytes(sizes_of(p), in[0].dtype()),
                                in[0], [&](Tensor& scratch) {
                                  kernels::conv2d_backward_weight(in[0], in[1], options_of(p), scratch,
                                                                  out[0], accum);
                                });
                 },
             .ref = [=](const Operands& a) -> std::vector<Values> {
               return {plus(ref::conv2d_backward_weight(p, a.in[0], a.in[1]), a.before[0])};
             },
             .flops = flops_of(p),
             .any_threads_same_bits = false};
  if (add) row.outputs[0].make = normal();
  return row;
}

OpCase with_f32_gradient(OpCase row) {
  row.name += "_f32";
  row.outputs[0].dtype = DType::f32;
  row.dtypes = {DType::f16, DType::bf16};
  return row;
}

const Problem kProblems[] = {
    {.B = 1, .C = 1, .H = 1, .W = 1, .O = 1, .KH = 1, .KW = 1},
    {.B = 2, .C = 3, .H = 8, .W = 12, .O = 5, .KH = 4, .KW = 4, .stride_h = 4, .stride_w = 4},  // patches
    {.B = 2, .C = 3, .H = 7, .W = 5, .O = 4, .KH = 3, .KW = 3, .padding_h = 1, .padding_w = 1},
    {.B = 1, .C = 2, .H = 9, .W = 11, .O = 3, .KH = 2, .KW = 5, .stride_h = 3, .stride_w = 2, .padding_w = 3},
    {.B = 3, .C = 1, .H = 4, .W = 3, .O = 2, .KH = 4, .KW = 3},  // one position
    {.B = 1,
     .C = 2,
     .H = 3,
     .W = 2,
     .O = 2,
     .KH = 5,
     .KW = 3,
     .stride_h = 2,
     .stride_w = 3,
     .padding_h = 4,
     .padding_w = 2},  // some positions meet padding alone
    {.B = 2,
     .C = 2,
     .H = 10,
     .W = 9,
     .O = 3,
     .KH = 3,
     .KW = 2,
     .stride_w = 2,
     .padding_h = 1,
     .padding_w = 2,
     .dilation_h = 2,
     .dilation_w = 3},
    {.B = 0, .C = 2, .H = 4, .W = 4, .O = 3, .KH = 2, .KW = 2},
};
// Positions are cut into pieces that end within a row.
const Problem kPieces = {.B = 1,
                         .C = 150,
                         .H = 17,
                         .W = 19,
                         .O = 3,
                         .KH = 5,
                         .KW = 5,
                         .stride_h = 1,
                         .stride_w = 2,
                         .padding_h = 2,
                         .padding_w = 1};

std::vector<OpCase> conv2d_cases() {
  std::vector<OpCase> rows;
  for (const Problem& p : kProblems) {
    rows.push_back(forward(p, false));
    rows.push_back(forward(p, true));
    for (const Accum accum : {Accum::set, Accum::add}) {
      rows.push_back(backward_input(p, accum));
      rows.push_back(backward_weight(p, accum));
      rows.push_back(with_f32_gradient(backward_input(p, accum)));
      rows.push_back(with_f32_gradient(backward_weight(p, accum)));
    }
  }
  for (OpCase row :
       {forward(kPieces, true), backward_input(kPieces, Accum::set), backward_weight(kPieces, Accum::add)}) {
    row.dtypes = {DType::f64, DType::f32};
    row.misalign = {0};
    rows.push_back(row);
  }
  return rows;
}

TARE_TEST_OP_CASES(Conv2d, conv2d_cases());

TEST(Conv2d, large_images_are_worked_on_in_pieces) {
  const Conv2dSizes s = sizes_of(kPieces);
  EXPECT_LT(s.piece(), s.positions());
  EXPECT_NE(s.piece() % s.OW, 0);
  Conv2dSizes batch = s;
  batch.B = 100;
  EXPECT_EQ(kernels::conv2d_forward_scratch_bytes(batch, DType::f32),
            kernels::conv2d_forward_scratch_bytes(s, DType::f32));
}

TEST(Conv2d, without_a_gemm_library_any_number_of_threads_gives_the_same_bits) {
  for (const Problem& p : kProblems) {
    for (OpCase row : {forward(p, true), backward_input(p, Accum::add), backward_weight(p, Accum::add)}) {
      row.any_threads_same_bits = true;
      row.dtypes = {DType::f64, DType::bf16};
      expect_same_bits_with_any_threads(row);
    }
  }
}

TEST(Conv2d, refuses_what_does_not_fit_and_says_why) {
  const auto sizes = [](const Shape& x, const Shape& w, const Conv2dOptions& options = {}) {
    kernels::conv2d_sizes("conv2d", x, w, options);
  };
  EXPECT_ERROR(sizes({2, 3, 8, 8}, {4, 2, 3, 3}), "(2, 3, 8, 8)", "3 channels", "takes 2");
  EXPECT_ERROR(sizes({3, 8, 8}, {4, 3, 3, 3}), "(3, 8, 8)", "(B, C, H, W)");
  EXPECT_ERROR(sizes({2, 3, 8, 4}, {4, 3, 3, 5}), "spans 5 along the width", "has 4");
  EXPECT_ERROR(sizes({2, 3, 4, 8}, {4, 3, 3, 5}, {.dilation = {3, 1}}), "spans 7 along the height", "has 4");
  EXPECT_ERROR(sizes({2, 3, 8, 8}, {4, 3, 3, 3}, {.stride = {0, 1}}), "height has stride 0");
  EXPECT_ERROR(sizes({2, 3, 8, 8}, {4, 3, 3, 3}, {.padding = {0, -1}}), "width", "padding -1");
  EXPECT_ERROR(sizes({2, 3, 8, 8}, {0, 3, 3, 3}), "no elements");
  Tensor y = Tensor::empty({2, 4, 6, 6}), scratch = Tensor::empty({1 << 16}, {DType::u8, kCpu, {}});
  const Tensor x = Tensor::zeros({2, 3, 8, 8}), w = Tensor::zeros({4, 3, 3, 3});
  const auto run = [&](const Tensor& image, const Tensor& bias) {
    kernels::conv2d_forward(image, w, bias, {}, scratch, y);
  };
  EXPECT_ERROR(run(x.to(DType::f64), {}), "w is f32", "f64");
  EXPECT_ERROR(run(x, Tensor::zeros({3})), "bias", "(3)", "(4)");
  scratch = Tensor::empty({8}, {DType::u8, kCpu, {}});
  EXPECT_ERROR(run(x, {}), "scratch has 8 bytes");
}

}  // namespace
}  // namespace tare::test
