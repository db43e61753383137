// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients against the reference that holds the whole T x S matrix.
#include "tare/kernels/attention.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/ref/attention.h"
#include "tests/support/guarded.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

struct Problem {
  ref::AttentionShape shape;
  double seen = 1;  // share of keys that the mask leaves; 1: no mask
  double dropout = 0;
  std::string tag = {};

  std::string name() const {
    const auto& s = shape;
    std::string n = detail::concat(s.B, "x", s.H, "x", s.T, "x", s.S, "x", s.D);
    return n + (s.causal ? "_causal" : "") + (seen < 1 ? "_masked" : "") + (dropout > 0 ? "_dropout" : "") +
           tag;
  }
};

constexpr uint64_t kKey = 0x1234567890abcdefull, kUpdate = 7;
constexpr int64_t kFirstSample = 3, kSampleStride = 2;

kernels::AttentionOptions options_of(const Problem& p) {
  return {p.shape.causal, p.shape.scale, {p.dropout, kKey, kUpdate, kFirstSample, kSampleStride}};
}

// The factor on each weight, from the contract in dropout_mask.h.
Values keep_of(const Problem& p) {
  if (p.dropout == 0) return {};
  const auto& s = p.shape;
  Values keep;
  for (int64_t b = 0; b < s.B; ++b)
    for (int64_t h = 0; h < s.H; ++h)
      for (int64_t t = 0; t < s.T; ++t)
        for (int64_t key = 0; key < s.S; ++key) {
          const uint64_t low = uint64_t(h) << 48 | uint64_t(t / 4) << 24 | uint64_t(key);
          const uint64_t high = kUpdate << 32 | uint64_t(kFirstSample + b * kSampleStride);
          const uint32_t bits = philox(kKey, low, high).v[t % 4];
          keep.push_back(double(bits) * 0x1p-32 < p.dropout ? 0 : 1 / (1 - p.dropout));
        }
  return keep;
}

std::vector<uint8_t> mask_of(const Values& v) { return {v.begin(), v.end()}; }

kernels::AttentionOperands operands(const Tensors& in) {
  return {in[0], in[1], in[2], in.size() > 3 && in[3].dim() == 2 ? in[3] : Tensor()};
}

Tensor scratch_for(int64_t bytes, const Tensor& like) {
  return Tensor::empty({bytes}, {DType::u8, like.device(), {}});
}

DType sum_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

constexpr const char* kWhy = "scores pass through exp, and out is a sum over S of rounded weights";

void add_operands(OpCase& row, const Problem& p) {
  const auto& s = p.shape;
  const Shape q{s.B, s.H, s.T, s.D}, k{s.B, s.H, s.S, s.D};
  row.inputs = {{"q", q, normal()}, {"k", k, normal()}, {"v", k, normal()}};
  if (p.seen < 1) row.inputs.push_back({"key_mask", {s.B, s.S}, mask(p.seen), DType::boolean});
}

double pairs(const ref::AttentionShape& s) {
  double n = 0;
  for (int64_t t = 0; t < s.T; ++t)
    for (int64_t key = 0; key < s.S; ++key) n += ref::sees(s, {}, 0, t, key) ? 1 : 0;
  return n * double(s.B * s.H);
}

OpCase forward(const Problem& p, DType dtype) {
  const auto& s = p.shape;
  OpCase row{.name = "forward_" + p.name() + "_" + std::string(name_of(dtype)),
             .inputs = {},
             .outputs = {},
             .run = {},
             .ref = {}};
  add_operands(row, p);
  row.outputs = {{"out", {s.B, s.H, s.T, s.D}}, {"lse", {s.B, s.H, s.T}, {}, sum_dtype(dtype)}};
  row.run = [=](Tensors& in, Tensors& out) {
    Tensor scratch = scratch_for(kernels::attention_forward_scratch_bytes(operands(in)), in[0]);
    kernels::attention_forward(operands(in), options_of(p), scratch, out[0], out[1]);
  };
  row.ref = [=](const Operands& a) -> std::vector<Values> {
    const auto want = ref::attention_forward(
        a.in[0], a.in[1], a.in[2], s, p.seen < 1 ? mask_of(a.in[3]) : std::vector<uint8_t>{}, keep_of(p));
    return {want.y, want.lse};
  };
  row.dtypes = {dtype};
  row.loosen = is_half(dtype) ? 1 : 8;
  row.loosen_reason = kWhy;
  row.flops = 4.0 * pairs(s) * double(s.D);
  return row;
}

OpCase backward(const Problem& p, DType dtype, Accum accum) {
  const bool add = accum == Accum::add;
  const auto& s = p.shape;
  OpCase row{.name = "backward_" + p.name() + "_" + std::string(name_of(dtype)) + (add ? "_add" : "_set"),
             .inputs = {},
             .outputs = {},
             .run = {},
             .ref = {}};
  add_operands(row, p);
  const Shape q{s.B, s.H, s.T, s.D}, k{s.B, s.H, s.S, s.D};
  row.inputs.push_back({"dout", q, normal()});
  row.outputs = {{"dq", q}, {"dk", k}, {"dv", k}};
  if (add)
    for (Operand& o : row.outputs) o.make = normal();
  row.run = [=](Tensors& in, Tensors& out) {
    const auto a = operands(in);
    Tensor y = Tensor::empty(a.q.shape(), {dtype, a.q.device(), {}});
    Tensor lse = Tensor::empty({s.B, s.H, s.T}, {sum_dtype(dtype), a.q.device(), {}});
    if (!a.q.device().is_meta()) {
      Tensor scratch = scratch_for(kernels::attention_forward_scratch_bytes(a), a.q);
      kernels::cpu::attention_forward(a, options_of(p), scratch, y, lse);
    }
    Tensor scratch = scratch_for(kernels::attention_backward_scratch_bytes(a), a.q);
    kernels::AttentionGradients g{out[0], out[1], out[2], accum, accum, accum};
    kernels::attention_backward(in.back(), a, y, lse, options_of(p), scratch, g);
  };
  row.ref = [=](const Operands& a) -> std::vector<Values> {
    auto g = ref::attention_backward(a.in[0], a.in[1], a.in[2], a.in.back(), s,
                                     p.seen < 1 ? mask_of(a.in[3]) : std::vector<uint8_t>{}, keep_of(p));
    Values* const all[] = {&g.dq, &g.dk, &g.dv};
    for (size_t i = 0; i < 3 && add; ++i)
      for (size_t j = 0; j < all[i]->size(); ++j) (*all[i])[j] += a.before[i][j];
    return {g.dq, g.dk, g.dv};
  };
  row.dtypes = {dtype};
  row.loosen = is_half(dtype) ? 4 : 16;
  row.loosen_reason =
      "dS is a difference of sums; with half types out was rounded, and its product with dout is subtracted";
  row.flops = 10.0 * pairs(s) * double(s.D);
  row.bytes = [=](DType d) {
    const double rows = double(s.B * s.H * s.T), keys = double(s.B * s.H * s.S), e = double(size_of(d) * s.D);
    return e * (3 * rows + 2 * keys) + rows * double(size_of(sum_dtype(d))) +
           e * (rows + 2 * keys) * (add ? 2 : 1) + (p.seen < 1 ? double(s.B * s.S) : 0);
  };
  return row;
}

std::vector<Problem> problems() {
  return {{{1, 1, 1, 1, 1}},
          {{2, 3, 5, 5, 4, true}},
          {{1, 2, 17, 17, 9, true}},
          {{2, 2, 13, 29, 16, false}, 0.6},
          {{1, 2, 3, 70, 8, true}},         // generation: few queries after many keys
          {{1, 1, 70, 3, 8, true}},         // most queries see no key
          {{1, 2, 65, 65, 33, true}, 0.7},  // across the edge of a block
          {{1, 1, 130, 130, 64, true, 0.2}},
          {{1, 2, 64, 128, 24, false}},
          {{2, 3, 21, 21, 8, true}, 0.8, 0.3},
          {{1, 2, 70, 66, 8, false}, 1, 0.1},
          {{1, 2, 4, 6, 8, false}, 0.0, 0, "_all"},  // no key at all
          {{0, 2, 4, 4, 8}},
          {{1, 2, 0, 4, 8}},
          {{1, 2, 4, 0, 8}},
          {{1, 1, 3, 5, 0}}};
}

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> rows;
  for (const Problem& p : problems())
    for (const DType dtype : kFloating) {
      rows.push_back(forward(p, dtype));
      rows.push_back(backward(p, dtype, dtype == DType::f32 || p.shape.T == 17 ? Accum::add : Accum::set));
    }
  return rows;
}

TARE_TEST_OP_CASES(Attention, attention_cases());

TEST(Attention, views_of_a_packed_projection_give_the_same_bits) {
  const int64_t B = 2, T = 37, H = 3, D = 8, C = H * D;
  const Tensor packed = Tensor::randn({B, T, 3 * C}, 1), dout = Tensor::randn({B, H, T, D}, 2);
  const auto part = [&](const Tensor& t, int64_t i) {
    return t.slice(2, i * C, (i + 1) * C).view({B, T, H, D}).transpose(1, 2);
  };
  const kernels::AttentionOperands views{part(packed, 0), part(packed, 1), part(packed, 2), {}};
  const kernels::AttentionOperands dense{
      views.q.contiguous(), views.k.contiguous(), views.v.contiguous(), {}};
  Tensor dpacked = Tensor::empty(packed.shape());
  kernels::AttentionGradients to_views{part(dpacked, 0), part(dpacked, 1), part(dpacked, 2)};
  kernels::AttentionGradients to_dense{Tensor::empty({B, H, T, D}), Tensor::empty({B, H, T, D}),
                                       Tensor::empty({B, H, T, D})};
  Tensor lse = Tensor::empty({B, H, T}), out = Tensor::empty({B, T, H, D}).transpose(1, 2),
         out_dense = Tensor::empty({B, H, T, D});
  Tensor scratch = scratch_for(std::max(kernels::attention_forward_scratch_bytes(views),
                                        kernels::attention_backward_scratch_bytes(views)),
                               packed);
  const kernels::AttentionOptions options{.causal = true};
  kernels::attention_forward(views, options, scratch, out, lse);
  kernels::attention_backward(dout, views, out, lse, options, scratch, to_views);
  kernels::attention_forward(dense, options, scratch, out_dense, lse);
  kernels::attention_backward(dout, dense, out_dense, lse, options, scratch, to_dense);
  EXPECT_TRUE(same_bits(out.contiguous(), out_dense));
  EXPECT_TRUE(same_bits(to_views.dq.contiguous(), to_dense.dq));
  EXPECT_TRUE(same_bits(to_views.dk.contiguous(), to_dense.dk));
  EXPECT_TRUE(same_bits(to_views.dv.contiguous(), to_dense.dv));
}

TEST(Attention, scratch_and_what_it_guards_stay_whole) {
  const Tensor q = Tensor::randn({1, 2, 70, 12}, 1);
  const kernels::AttentionOperands in{q, q, q, {}};
  Guarded forward({kernels::attention_forward_scratch_bytes(in)}, DType::u8),
      backward({kernels::attention_backward_scratch_bytes(in)}, DType::u8);
  Tensor out = Tensor::empty(q.shape()), lse = Tensor::empty({1, 2, 70});
  kernels::attention_forward(in, {}, forward.tensor(), out, lse);
  kernels::AttentionGradients g{Tensor::empty(q.shape()), Tensor::empty(q.shape()), Tensor::empty(q.shape())};
  kernels::attention_backward(q, in, out, lse, {}, backward.tensor(), g);
  EXPECT_TRUE(forward.guards_intact());
  EXPECT_TRUE(backward.guards_intact());
}

TEST(Attention, great_scores_do_not_overflow) {
  const Values x = normal(0, 300)(1 * 1 * 9 * 8, 5);
  const Tensor q = tensor_of(x, {1, 1, 9, 8}, DType::f32);
  const kernels::AttentionOperands in{q, q, q, {}};
  Tensor out = Tensor::empty(q.shape()), lse = Tensor::empty({1, 1, 9});
  Tensor scratch = scratch_for(kernels::attention_forward_scratch_bytes(in), q);
  kernels::attention_forward(in, {}, scratch, out, lse);
  const auto want = ref::attention_forward(q.to_vector<double>(), q.to_vector<double>(),
                                           q.to_vector<double>(), {1, 1, 9, 9, 8});
  expect_close(out, want.y);
}

TEST(Attention, dropout_of_a_weight_does_not_depend_on_padding_or_on_the_batch_around_it) {
  const int64_t H = 2, T = 9, D = 4;
  const Tensor q = Tensor::randn({2, H, T, D}, 1);
  const auto run = [&](const Tensor& t, const Tensor& mask, int64_t first) {
    const kernels::AttentionOperands in{t, t, t, mask};
    Tensor out = Tensor::empty(t.shape()), lse = Tensor::empty({t.size(0), H, t.size(2)});
    Tensor scratch = scratch_for(kernels::attention_forward_scratch_bytes(in), t);
    kernels::attention_forward(in, {.causal = false, .dropout = {0.4, 5, 6, first, 1}}, scratch, out, lse);
    return out;
  };
  const Tensor together = run(q, {}, 0);
  EXPECT_TRUE(same_bits(together.slice(0, 1, 2).contiguous(), run(q.slice(0, 1, 2), {}, 1)));
  Tensor padded = Tensor::randn({1, H, T + 80, D}, 3), head = padded.slice(2, 0, T);
  copy(q.slice(0, 0, 1), head);
  std::vector<uint8_t> seen(size_t(T + 80));
  std::fill_n(seen.begin(), T, uint8_t(1));
  const Tensor alone = run(padded, Tensor::from_vector(seen, {1, T + 80}), 0).slice(2, 0, T).contiguous();
  expect_close(alone, together.slice(0, 0, 1).contiguous().to_vector<double>());
}

TEST(Attention, refuses_what_it_cannot_do) {
  const Tensor q = Tensor::zeros({1, 2, 3, 4}), k = Tensor::zeros({1, 2, 5, 4});
  Tensor out = Tensor::empty(q.shape()), lse = Tensor::empty({1, 2, 3}), scratch = scratch_for(1 << 20, q),
         none = scratch_for(8, q);
  const auto run = [&](const kernels::AttentionOperands& in, Tensor& memory, double p = 0) {
    kernels::attention_forward(in, {.dropout = {.p = p}}, memory, out, lse);
  };
  EXPECT_NO_THROW(run({q, k, k, {}}, scratch));
  EXPECT_THROW(run({q, k, k.slice(2, 0, 4), {}}, scratch), Error);
  EXPECT_THROW(run({q, k, k, Tensor::zeros({1, 4}, {DType::boolean, kCpu, {}})}, scratch), Error);
  EXPECT_THROW(run({q, k, k, Tensor::zeros({1, 5})}, scratch), Error);
  EXPECT_THROW(run({q, k, k, {}}, none), Error);
  EXPECT_THROW(run({q, k, k, {}}, scratch, 1), Error);
  EXPECT_THROW(run({q.transpose(2, 3).contiguous().transpose(2, 3), k, k, {}}, scratch), Error);
}

}  // namespace
}  // namespace tare::test
