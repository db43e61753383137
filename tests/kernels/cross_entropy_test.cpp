// SPDX-License-Identifier: Apache-2.0
// Cross-entropy, alone and behind a linear head in chunks, against the reference.
#include "tests/ref/cross_entropy.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tare/core/ledger.h"
#include "tare/kernels/linear_cross_entropy.h"

#include "tests/support/guarded.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

using kernels::CrossEntropyOptions;

struct Rows {
  int64_t N, V;
  CrossEntropyOptions options = {};
  std::string name() const {
    return std::to_string(N) + "x" + std::to_string(V) + (options.label_smoothing > 0 ? "_smoothed" : "") +
           (options.ignore_index >= 0 ? "_ignored" : "");
  }
};

DType loss_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

std::vector<int64_t> labels(const Values& v) { return {v.begin(), v.end()}; }

ref::CrossEntropy<double> reference(const Values& logits, const Values& targets, const Rows& r) {
  return ref::cross_entropy(logits, labels(targets), r.V,
                            {r.options.ignore_index, r.options.label_smoothing});
}

// Rows are written for one dtype of logits, since losses of half-precision logits are f32.
OpCase forward(const Rows& r, DType dtype, Maker make = normal(0, 3)) {
  const DType f = loss_dtype(dtype);
  return {
      .name = "forward_" + r.name() + "_" + std::string(name_of(dtype)),
      .inputs = {{"logits", {r.N, r.V}, make}, {"targets", {r.N}, indices(r.V), DType::i64}},
      .outputs = {{"loss", {r.N}, {}, f}, {"lse", {r.N}, {}, f}},
      .run = [=](Tensors& in,
                 Tensors& out) { kernels::cross_entropy_forward(in[0], in[1], r.options, out[0], out[1]); },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        Values lse;
        for (int64_t i = 0; i < r.N; ++i) lse.push_back(ref::log_sum_exp(a.in[0].data() + i * r.V, r.V));
        return {reference(a.in[0], a.in[1], r).loss, lse};
      },
      .dtypes = {dtype},
      .flops = 4.0 * double(r.N * r.V)};
}

OpCase backward(const Rows& r, DType dtype, Accum accum) {
  const bool add = accum == Accum::add;
  const DType f = loss_dtype(dtype);
  OpCase row{
      .name = "backward_" + r.name() + "_" + std::string(name_of(dtype)) + (add ? "_add" : "_set"),
      .inputs = {{"logits", {r.N, r.V}, normal(0, 3)},
                 {"targets", {r.N}, indices(r.V), DType::i64},
                 {"dsum", {1}, constant(0.75), f}},
      .outputs = {{"dlogits", {r.N, r.V}}},
      .run =
          [=](Tensors& in, Tensors& out) {
            // lse is this kernel's own, of the forward
            Tensor loss = Tensor::empty({r.N}, {f, in[0].device(), {}}), lse = Tensor::empty_like(loss);
            if (!in[0].device().is_meta())
              kernels::cpu::cross_entropy_forward(in[0], in[1], r.options, loss, lse);
            kernels::cross_entropy_backward(in[0], in[1], lse, in[2], r.options, out[0], accum);
          },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        Values d = reference(a.in[0], a.in[1], r).dlogits;
        for (size_t i = 0; i < d.size(); ++i) d[i] = 0.75 * d[i] + (add ? a.before[0][i] : 0);
        return {d};
      },
      .dtypes = {dtype},
      .flops = 4.0 * double(r.N * r.V),
      .bytes =
          [=](DType d) {
            return double(r.N * r.V * size_of(d)) * (add ? 3 : 2) + double(r.N) * double(8 + size_of(f)) +
                   double(size_of(f));
          }};
  if (add) row.outputs[0].make = normal();
  return row;
}

OpCase both(const Rows& r, DType dtype) {
  return {.name = "forward_backward_" + r.name() + "_" + std::string(name_of(dtype)),
          .inputs = {{"logits", {r.N, r.V}, normal(0, 3)}, {"targets", {r.N}, indices(r.V), DType::i64}},
          .outputs = {{"loss", {r.N}, {}, loss_dtype(dtype)}, {"dlogits", {r.N, r.V}}},
          .run =
              [=](Tensors& in, Tensors& out) {
                kernels::cross_entropy_forward_backward(in[0], in[1], 0.5, r.options, out[0], out[1]);
              },
          .ref = [=](const Operands& a) -> std::vector<Values> {
            auto want = reference(a.in[0], a.in[1], r);
            for (double& d : want.dlogits) d *= 0.5;
            return {want.loss, want.dlogits};
          },
          .dtypes = {dtype},
          .flops = 8.0 * double(r.N * r.V)};
}

std::vector<OpCase> cross_entropy_cases() {
  std::vector<OpCase> rows;
  for (const DType dtype : kFloating) {
    for (const Rows& r :
         {Rows{1, 1}, Rows{3, 7}, Rows{5, 33, {.ignore_index = 2}}, Rows{4, 19, {.label_smoothing = 0.1}},
          Rows{2, 2500, {.label_smoothing = 0.3}}, Rows{0, 3}}) {
      rows.push_back(forward(r, dtype));
      rows.push_back(backward(r, dtype, Accum::set));
      rows.push_back(backward(r, dtype, Accum::add));
      rows.push_back(both(r, dtype));
    }
  }
  rows.push_back(forward({200, 5}, DType::f32));
  rows.back().name += "_many";
  rows.push_back(forward({4, 19}, DType::f32, normal(1000, 50)));
  rows.back().name += "_steep";
  return rows;
}

TARE_TEST_OP_CASES(CrossEntropy, cross_entropy_cases());

TEST(CrossEntropy, a_label_out_of_range_is_named) {
  const auto message = [](std::vector<int64_t> labels) -> std::string {
    try {
      kernels::count_targets(Tensor::from_vector(labels, {int64_t(labels.size())}), 5, {});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message({0, 4, -100, 5}).find("row 3 has label 5"), std::string::npos);
  EXPECT_NE(message({0, -1}).find("row 1 has label -1"), std::string::npos);
  const Tensor targets = Tensor::from_vector(std::vector<int64_t>{0, 4, -100}, {3});
  EXPECT_EQ(kernels::count_targets(targets, 5, {}), 2);
}

TEST(CrossEntropy, a_logit_of_minus_infinity_is_a_class_that_is_ruled_out) {
  const Tensor x = Tensor::from_vector(std::vector<float>{0, -INFINITY, 0, NAN, 0, 0}, {2, 3});
  const Tensor targets = Tensor::from_vector(std::vector<int64_t>{0, 0}, {2});
  Tensor loss = Tensor::empty({2}), lse = Tensor::empty({2}), d = Tensor::empty({2, 3});
  kernels::cross_entropy_forward_backward(x, targets, 1, {}, loss, d);
  EXPECT_NEAR(loss.to_vector<double>()[0], std::log(2.0), 1e-6);
  EXPECT_EQ(d.to_vector<double>()[1], 0);
  EXPECT_TRUE(std::isnan(loss.to_vector<double>()[1]));
}

struct Head {
  int64_t N, C, V, chunk;
  double smoothing = 0;
};

void expect_head_agrees(const Head& h, DType dtype, bool conv1d) {
  SCOPED_TRACE(detail::concat(h.N, "x", h.C, "x", h.V, " chunk ", h.chunk, " ", dtype));
  const Values x = rounded_to(dtype, normal()(h.N * h.C, 1)), w = rounded_to(dtype, normal()(h.V * h.C, 2));
  const Values t = indices(h.V)(h.N, 3);
  const auto want = ref::linear_cross_entropy(x, w, labels(t), h.C, h.V,
                                              {.ignore_index = 1, .label_smoothing = h.smoothing});
  const kernels::LinearCrossEntropyOptions options{
      {.ignore_index = 1, .label_smoothing = h.smoothing}, 0.5, h.chunk};
  Tensor wt = tensor_of(w, {h.V, h.C}, dtype);
  if (conv1d) wt = wt.transpose(0, 1).contiguous().transpose(0, 1);
  const int64_t bytes = kernels::linear_cross_entropy_scratch_bytes(h.N, h.V, dtype, h.chunk);
  Guarded scratch({bytes}, DType::u8);
  kernels::LinearCrossEntropyResult result{Tensor::empty({h.N}, {loss_dtype(dtype), kCpu, {}}),
                                           Tensor::empty({h.N, h.C}, {dtype, kCpu, {}}),
                                           Tensor::empty({h.V, h.C}, {loss_dtype(dtype), kCpu, {}})};
  const Tensor targets = tensor_of(t, {h.N}, DType::i64);
  kernels::linear_cross_entropy(tensor_of(x, {h.N, h.C}, dtype), wt, targets, options, scratch.tensor(),
                                result);
  EXPECT_TRUE(scratch.guards_intact());
  const Tolerance f =
      tolerance(loss_dtype(dtype)).looser(8, "the loss is a small difference of sums over C and V");
  // dlogits is rounded to a half type before the two products.
  const Tolerance g = is_half(dtype) ? tolerance(dtype).looser(2, "dlogits is rounded as well") : f;
  Values dx = want.dx, dw = want.dweight;
  for (double& v : dx) v *= 0.5;
  for (double& v : dw) v *= 0.5;
  EXPECT_TRUE(is_close(result.loss, want.head.loss, f));
  EXPECT_TRUE(notices_spoiling(want.head.loss, loss_dtype(dtype), f));
  EXPECT_TRUE(is_close(result.dx, dx, g));
  EXPECT_TRUE(is_close(result.dw.to(dtype), dw, g));
}

TEST(LinearCrossEntropy, agrees_with_the_reference_whatever_the_chunk) {
  for (const DType dtype : kFloating)
    for (const int64_t chunk : {0, 1, 3, 16, 100})
      expect_head_agrees({.N = 35, .C = 9, .V = 13, .chunk = chunk, .smoothing = chunk == 3 ? 0.1 : 0}, dtype,
                         chunk == 16);
}

TEST(LinearCrossEntropy, no_rows_give_a_gradient_of_zero) {
  Tensor scratch = Tensor::empty({0}, {DType::u8, kCpu, {}});
  kernels::LinearCrossEntropyResult result{Tensor::empty({0}), Tensor::empty({0, 3}),
                                           Tensor::full({5, 3}, 7)};
  kernels::linear_cross_entropy(Tensor::empty({0, 3}), Tensor::empty({5, 3}),
                                Tensor::empty({0}, {DType::i64, kCpu, {}}), {}, scratch, result);
  EXPECT_EQ(result.dw.to_vector<double>(), Values(15));
}

TEST(LinearCrossEntropy, the_rule_for_chunks_bounds_the_scratch) {
  for (const int64_t V : {1, 256, 50257, 128256})
    for (const int64_t N : {1, 15, 1024, 4096, 100000}) {
      const int64_t chunk = kernels::linear_cross_entropy_chunk(N, V);
      EXPECT_GE(chunk, 1);
      EXPECT_LE(chunk, N);
      EXPECT_LE(kernels::linear_cross_entropy_scratch_bytes(N, V, DType::f32, 0), int64_t(64) << 20);
    }
  EXPECT_EQ(kernels::linear_cross_entropy_chunk(1024, 50257), 256);
}

}  // namespace
}  // namespace tare::test
