// SPDX-License-Identifier: Apache-2.0
// Attention as a differentiable op: central differences, masks, dropout, and memory that grows with T.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"
#include "tare/core/ledger.h"
#include "tare/core/random_scope.h"

#include "tests/support/values.h"

namespace tare::test {
namespace {

Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::f64) {
  return Tensor::randn(shape, seed, {dtype, kCpu, {}});
}

TEST(AttentionOp, gradients_agree_with_differences) {
  const Tensor seen = Tensor::from_vector(std::vector<uint8_t>{1, 1, 0, 1, 1, 0, 1, 1, 1, 1}, {2, 5});
  for (const bool causal : {false, true})
    for (const double dropout : {0.0, 0.3})
      for (const Tensor& mask : {Tensor(), seen}) {
        const AttentionOptions options{.causal = causal, .dropout = dropout, .key_mask = mask};
        const auto f = [&](const Vars& v) {
          const RandomScope at({.seed = 3, .update = 4});
          return attention(v[0], v[1], v[2], options);
        };
        EXPECT_EQ(gradcheck(f, {random({2, 2, 3, 4}, 1), random({2, 2, 5, 4}, 2), random({2, 2, 5, 4}, 3)}),
                  "");
        const auto g = [&](const Vars& v) {
          const RandomScope at({.seed = 3, .update = 4});
          return packed_attention(v[0], 2, options);
        };
        EXPECT_EQ(gradcheck(g, {random({2, 5, 3 * 6}, 1)}), "");
      }
}

TEST(AttentionOp, each_call_under_one_path_drops_its_own_weights) {
  const Tensor qkv = random({2, 7, 3 * 12}, 1);
  const auto two = [&] {
    const RandomScope at({.seed = 3, .update = 4});
    const AttentionOptions options{.dropout = 0.5};
    return std::pair(packed_attention(qkv, 3, options).value(), packed_attention(qkv, 3, options).value());
  };
  const auto once = two(), again = two();
  EXPECT_FALSE(same_bits(once.first, once.second));
  EXPECT_TRUE(same_bits(once.first, again.first));
  EXPECT_TRUE(same_bits(once.second, again.second));
  EXPECT_THROW(packed_attention(qkv, 3, {.dropout = 0.5}), Error);
}

TEST(AttentionOp, operands_of_any_layout_and_any_wanted_subset) {
  const auto f = [](const Vars& v) { return attention(v[0], v[1], v[2], {.causal = true}); };
  const Tensor q = random({1, 2, 3, 4}, 1), k = random({1, 2, 3, 4}, 2), v = random({1, 2, 3, 4}, 3);
  for (const Layout l : kLayouts)
    EXPECT_EQ(gradcheck(f, {with_layout(q, l), with_layout(k, l), with_layout(v, l)}), "") << name_of(l);
  for (int one = 0; one < 3; ++one) {
    std::vector<bool> wanted(3);
    wanted[size_t(one)] = true;
    EXPECT_EQ(gradcheck(f, {q, k, v}, {.wanted = wanted}), "");
  }
  EXPECT_EQ(gradcheck(f, {random({1, 1, 1, 1}, 1), random({1, 1, 1, 1}, 2), random({1, 1, 1, 1}, 3)}), "");
}

TEST(AttentionOp, packed_equals_separate) {
  const Tensor qkv = random({2, 7, 3 * 12}, 1);
  const auto part = [&](int64_t i) {
    return Var(qkv.slice(2, i * 12, i * 12 + 12).view({2, 7, 3, 4}).transpose(1, 2));
  };
  const Tensor packed = packed_attention(qkv, 3, {.causal = true}).value();
  const Tensor separate = attention(part(0), part(1), part(2), {.causal = true}).value();
  EXPECT_TRUE(same_bits(packed, separate.transpose(1, 2).contiguous().view({2, 7, 12})));
}

TEST(AttentionOp, a_key_value_cache_gives_the_rows_of_the_whole) {
  const Tensor q = random({1, 2, 6, 4}, 1), k = random({1, 2, 6, 4}, 2), v = random({1, 2, 6, 4}, 3);
  const Tensor whole = attention(q, k, v, {.causal = true}).value();
  for (int64_t t = 0; t < 6; ++t) {
    const Tensor row =
        attention(q.slice(2, t, t + 1), k.slice(2, 0, t + 1), v.slice(2, 0, t + 1), {.causal = true}).value();
    expect_close(row, whole.slice(2, t, t + 1).to_vector<double>());
  }
}

TEST(AttentionOp, memory_grows_with_T_and_not_with_its_square) {
  const auto peak = [](int64_t T) {
    const Var qkv = Var::parameter(random({1, T, 3 * 32}, 1, DType::f32));
    const Tensor dy = random({1, T, 32}, 2, DType::f32);
    ledger(kCpu).reset_peaks();
    const int64_t before = ledger(kCpu).total();
    backward(packed_attention(qkv, 4, {.causal = true}), {.seed = dy});
    return ledger(kCpu).peak_total() - before;
  };
  const int64_t once = peak(1536), twice = peak(3072);
  EXPECT_LE(twice, 2 * once);
  EXPECT_LT(twice, 4 * 3072 * 3072 / 4);  // a quarter of one head's scores; there are four heads
}

}  // namespace
}  // namespace tare::test
