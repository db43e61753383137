// SPDX-License-Identifier: Apache-2.0
// LayerNorm and RMSNorm against their references.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/core/error.h"
#include "tare/core/parallel.h"
#include "tare/kernels/rmsnorm.h"

#include "tests/kernels/layernorm_cases.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

OpCase rmsnorm_row(int64_t rows, int64_t C, DType dtype) {
  return {
      .name = "rmsnorm_" + size_name(rows, C) + "_" + std::string(name_of(dtype)),
      .inputs = {{"x", {rows, C}, normal(0.5, 2)}, {"gamma", {C}, normal(1, 0.2)}},
      .outputs = {{"y", {rows, C}}, {"rstd", {rows}, {}, sums_of(dtype)}},
      .run = [](Tensors& in, Tensors& out) { kernels::rmsnorm_forward(in[0], in[1], kEps, out[0], out[1]); },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        const auto f = ref::rms_norm_forward(a.in[0], a.in[1], rows, C, kEps);
        return {f.y, f.rstd};
      },
      .dtypes = {dtype},
      .flops = 4.0 * double(rows * C)};
}

OpCase rmsnorm_backward_row(int64_t rows, int64_t C, DType dtype, Accum accum, DType weight) {
  const bool add = accum == Accum::add;
  const Values x = rounded_to(dtype, normal(0.5, 2)(rows * C, 12));
  const auto f = ref::rms_norm_forward(x, {}, rows, C, kEps);
  OpCase row{.name = "rmsnorm_backward_" + size_name(rows, C) + "_" + std::string(name_of(dtype)) + "_" +
                     std::string(name_of(weight)) + (add ? "_add" : "_set"),
             .inputs = {{"x", {rows, C}, given(x)},
                        {"gamma", {C}, normal(1, 0.2), weight},
                        {"rstd", {rows}, given(f.rstd), sums_of(dtype)},
                        {"dy", {rows, C}, normal()}},
             .outputs = {{"dx", {rows, C}}, {"dgamma", {C}, {}, weight}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   kernels::RmsNormGrads grads{&out[0], &out[1], accum, accum};
                   const int64_t bytes =
                       kernels::rmsnorm_backward_scratch_bytes(in[0].shape(), in[0].dtype());
                   Tensor scratch = scratch_for(bytes, in[0]);
                   kernels::rmsnorm_backward(in[0], in[1], in[2], in[3], grads, scratch);
                 },
             .ref = [=](const Operands& a) -> std::vector<Values> {
               const auto g = ref::rms_norm_backward(a.in[0], a.in[1], a.in[3], rows, C, kEps);
               std::vector<Values> outputs{g.dx, g.dweight};
               add_before(outputs, a);
               return outputs;
             },
             .dtypes = {dtype},
             .flops = 11.0 * double(rows * C)};
  if (add)
    for (Operand& o : row.outputs) o.make = normal();
  return row;
}

std::vector<OpCase> rmsnorm_cases() {
  std::vector<OpCase> rows;
  for (DType dtype : kFloating) {
    for (int64_t C : {2, 7, 16, 17, 63, 64, 65, 130, 257}) {
      rows.push_back(rmsnorm_row(3, C, dtype));
    }
    const DType sums = sums_of(dtype);
    for (Accum accum : {Accum::set, Accum::add}) {
      for (auto [n, C] :
           {std::pair<int64_t, int64_t>{0, 5}, {1, 7}, {5, 33}, {3, 130}, {77, 17}, {129, 64}}) {
        rows.push_back(rmsnorm_backward_row(n, C, dtype, accum, dtype));
      }
      if (sums == dtype) continue;
      rows.push_back(rmsnorm_backward_row(77, 17, dtype, accum, sums));
    }
  }
  return rows;
}

TARE_TEST_OP_CASES(LayerNorm, layernorm_cases());
TARE_TEST_OP_CASES(RmsNorm, rmsnorm_cases());

TEST(LayerNorm, large_offsets_do_not_cancel) {
  const int64_t C = 48;
  const Values x = rounded_to(DType::f32, normal(1000, 1)(2 * C, 5)), ones(C, 1), zeros(C, 0);
  const auto want = ref::layer_norm_forward(x, ones, zeros, 2, C, kEps);
  Tensor y = Tensor::empty({2, C}), mean = Tensor::empty({2}), rstd = Tensor::empty({2});
  kernels::layernorm_forward(tensor_of(x, {2, C}, DType::f32), Tensor::full({C}, 1), Tensor::zeros({C}), kEps,
                             y, mean, rstd);
  expect_close(y, want.y, tolerance(DType::f32).looser(128, "a rounding of the mean, 1000, is 1000 in y"));
}

TEST(LayerNorm, constant_rows_give_beta) {
  Tensor y = Tensor::empty({1, 8}), mean = Tensor::empty({1}), rstd = Tensor::empty({1});
  kernels::layernorm_forward(Tensor::full({1, 8}, 3), Tensor::full({8}, 2), Tensor::full({8}, -1), kEps, y,
                             mean, rstd);
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(8, -1.0f));
  EXPECT_NEAR(rstd.item<double>(), 1 / std::sqrt(kEps), 1e-4);
}

TEST(LayerNorm, backward_forms_only_what_is_wanted) {
  const Tensor x = Tensor::randn({9, 6}, 1), dy = Tensor::randn({9, 6}, 2), gamma = Tensor::randn({6}, 3);
  Tensor y = Tensor::empty({9, 6}), mean = Tensor::empty({9}), rstd = Tensor::empty({9});
  kernels::layernorm_forward(x, gamma, gamma, kEps, y, mean, rstd);
  Tensor scratch = scratch_for(kernels::layernorm_backward_scratch_bytes(x.shape(), x.dtype()), x);
  Tensor all[3] = {Tensor::empty({9, 6}), Tensor::empty({6}), Tensor::empty({6})};
  kernels::LayerNormGrads grads{&all[0], &all[1], &all[2]};
  kernels::layernorm_backward(x, gamma, mean, rstd, dy, grads, scratch);
  for (int which = 0; which < 3; ++which) {
    Tensor one = Tensor::empty_like(all[which]);
    kernels::LayerNormGrads single;
    (which == 0 ? single.dx : which == 1 ? single.dgamma : single.dbeta) = &one;
    kernels::layernorm_backward(x, gamma, mean, rstd, dy, single, scratch);
    EXPECT_TRUE(same_bits(one, all[which])) << which;
  }
}

TEST(LayerNorm, dx_may_overwrite_dy) {
  const Tensor x = Tensor::randn({40, 6}, 1), gamma = Tensor::randn({6}, 3);
  Tensor dy = Tensor::randn({40, 6}, 2), y = Tensor::empty({40, 6}), mean = Tensor::empty({40});
  Tensor rstd = Tensor::empty({40}), dx = Tensor::empty({40, 6}), dgamma = Tensor::empty({6});
  kernels::layernorm_forward(x, gamma, gamma, kEps, y, mean, rstd);
  Tensor scratch = scratch_for(kernels::layernorm_backward_scratch_bytes(x.shape(), x.dtype()), x);
  kernels::LayerNormGrads apart{&dx, &dgamma};
  kernels::layernorm_backward(x, gamma, mean, rstd, dy, apart, scratch);
  Tensor dgamma_in_place = Tensor::empty({6});
  kernels::LayerNormGrads in_place{&dy, &dgamma_in_place};
  kernels::layernorm_backward(x, gamma, mean, rstd, dy, in_place, scratch);
  EXPECT_TRUE(same_bits(dy, dx));
  EXPECT_TRUE(same_bits(dgamma_in_place, dgamma));
}

TEST(LayerNorm, refuses_a_scratch_that_is_too_small) {
  const Tensor x = Tensor::zeros({4, 6}), gamma = Tensor::zeros({6}), rows = Tensor::zeros({4});
  Tensor dx = Tensor::zeros({4, 6}), scratch = Tensor::zeros({3}, {DType::u8, kCpu, {}});
  kernels::LayerNormGrads grads{&dx};
  try {
    kernels::layernorm_backward(x, gamma, rows, rows, x, grads, scratch);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("layernorm_backward: scratch has 3 bytes, needs 48"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace tare::test
