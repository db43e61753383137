// SPDX-License-Identifier: Apache-2.0
// The table of LayerNorm's cases, and what RMSNorm's share with it.
#pragma once

#include <string>

#include "tare/kernels/layernorm.h"

#include "tests/ref/norm.h"
#include "tests/support/op_case.h"

namespace tare::test {

constexpr double kEps = 1e-5;

// The dtype of statistics beside operands of `dtype`.
inline DType sums_of(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

inline std::string size_name(int64_t rows, int64_t C) {
  return std::to_string(rows) + "x" + std::to_string(C);
}

// Statistics are in f32 also for half types, so a row stands for one dtype.
inline OpCase layernorm_row(int64_t rows, int64_t C, DType dtype, Maker x = normal(0.5, 2)) {
  const DType sums = sums_of(dtype);
  return {.name = "layernorm_" + size_name(rows, C) + "_" + std::string(name_of(dtype)),
          .inputs = {{"x", {rows, C}, x}, {"gamma", {C}, normal(1, 0.2)}, {"beta", {C}, normal(0, 0.5)}},
          .outputs = {{"y", {rows, C}}, {"mean", {rows}, {}, sums}, {"rstd", {rows}, {}, sums}},
          .run =
              [](Tensors& in, Tensors& out) {
                kernels::layernorm_forward(in[0], in[1], in[2], kEps, out[0], out[1], out[2]);
              },
          .ref = [=](const Operands& a) -> std::vector<Values> {
            const auto f = ref::layer_norm_forward(a.in[0], a.in[1], a.in[2], rows, C, kEps);
            return {f.y, f.mean, f.rstd};
          },
          .dtypes = {dtype},
          .flops = 8.0 * double(rows * C)};
}

inline void add_before(std::vector<Values>& outputs, const Operands& a) {
  for (size_t k = 0; k < outputs.size(); ++k)
    for (size_t i = 0; i < a.before[k].size(); ++i) outputs[k][i] += a.before[k][i];
}

inline Tensor scratch_for(int64_t bytes, const Tensor& x) {
  return Tensor::empty({bytes}, {DType::u8, x.device(), {}});
}

// Statistics as the forward computes them; gradients of the weights in f32 for half types.
inline OpCase layernorm_backward_row(int64_t rows, int64_t C, DType dtype, Accum accum, DType weight) {
  const DType sums = sums_of(dtype);
  const bool add = accum == Accum::add;
  const Values x = rounded_to(dtype, normal(0.5, 2)(rows * C, 11));
  const auto f = ref::layer_norm_forward(x, {}, {}, rows, C, kEps);
  OpCase row{.name = "layernorm_backward_" + size_name(rows, C) + "_" + std::string(name_of(dtype)) + "_" +
                     std::string(name_of(weight)) + (add ? "_add" : "_set"),
             .inputs = {{"x", {rows, C}, given(x)},
                        {"gamma", {C}, normal(1, 0.2), weight},
                        {"mean", {rows}, given(f.mean), sums},
                        {"rstd", {rows}, given(f.rstd), sums},
                        {"dy", {rows, C}, normal()}},
             .outputs = {{"dx", {rows, C}}, {"dgamma", {C}, {}, weight}, {"dbeta", {C}, {}, weight}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   kernels::LayerNormGrads grads{&out[0], &out[1], &out[2], accum, accum, accum};
                   const int64_t bytes =
                       kernels::layernorm_backward_scratch_bytes(in[0].shape(), in[0].dtype());
                   Tensor scratch = scratch_for(bytes, in[0]);
                   kernels::layernorm_backward(in[0], in[1], in[2], in[3], in[4], grads, scratch);
                 },
             .ref = [=](const Operands& a) -> std::vector<Values> {
               const auto g = ref::layer_norm_backward(a.in[0], a.in[1], a.in[4], rows, C, kEps);
               std::vector<Values> outputs{g.dx, g.dweight, g.dbias};
               add_before(outputs, a);
               return outputs;
             },
             .dtypes = {dtype},
             .flops = 16.0 * double(rows * C)};
  if (add)
    for (Operand& o : row.outputs) o.make = normal();
  return row;
}

inline std::vector<OpCase> layernorm_cases() {
  std::vector<OpCase> rows;
  for (DType dtype : kFloating) {
    for (int64_t C : {2, 7, 16, 17, 63, 64, 65, 130, 257}) rows.push_back(layernorm_row(3, C, dtype));
    rows.push_back(layernorm_row(0, 5, dtype));
    rows.push_back(layernorm_row(201, 33, dtype));
    for (int64_t C : {1032, 2049})
      rows.push_back(layernorm_row(2, C, dtype));  // more than a GPU gives to one warp
    const DType sums = sums_of(dtype);
    for (Accum accum : {Accum::set, Accum::add}) {
      for (auto [n, C] : {std::pair<int64_t, int64_t>{0, 5},
                          {1, 7},
                          {5, 33},
                          {3, 130},
                          {77, 17},
                          {129, 64},
                          {2, 1032},
                          {2, 2049}})
        rows.push_back(layernorm_backward_row(n, C, dtype, accum, dtype));
      if (sums == dtype) continue;
      rows.push_back(layernorm_backward_row(77, 17, dtype, accum, sums));
      rows.push_back(layernorm_backward_row(3, 1032, dtype, accum, sums));
    }
  }
  return rows;
}

}  // namespace tare::test
