// SPDX-License-Identifier: Apache-2.0
// Dropout: the share, the scale, the gradient, and that the mask does not depend on how a batch is cut.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/core/random_scope.h"
#include "tare/core/scope.h"

namespace tare {
namespace {

Tensor ones(const Shape& shape, DType dtype = DType::f32) {
  return Tensor::full(shape, 1, {dtype, kCpu, {}});
}

std::vector<float> run(const Shape& shape, double p, const RandomContext& context) {
  const RandomScope scope(context);
  return dropout(ones(shape), p).value().to_vector<float>();
}

TEST(Dropout, DropsTheShareAndScalesTheRest) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto y = run({64, 1001}, p, {7, 0, 0, 1});
    double dropped = 0;
    for (const float v : y) {
      if (v == 0)
        ++dropped;
      else
        EXPECT_EQ(v, float(1 / (1 - p)));
    }
    const double n = double(y.size());
    EXPECT_NEAR(dropped / n, p, 5 * std::sqrt(p * (1 - p) / n));
  }
}

TEST(Dropout, ZeroIsTheIdentityAndBadProbabilitiesAreErrors) {
  const Var x(ones({3}));
  EXPECT_TRUE(dropout(x, 0).value().same_storage(x.value()));
  const RandomScope scope({1, 5, 0, 1});
  EXPECT_THROW(dropout(x, 1), Error);
  EXPECT_THROW(dropout(x, -0.1), Error);
}

TEST(Dropout, AnyCutOfTheBatchDropsTheSameElements) {
  for (const int64_t inner : {1, 3, 4, 1000, 4099}) {
    const auto whole = run({6, inner}, 0.3, {1, 5, 0, 1});
    std::vector<float> parts;
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 3}, {4, 2}}) {
      const auto part = run({count, inner}, 0.3, {1, 5, first, 1});
      parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_EQ(whole, parts) << inner;
    // Every second sample, as one of two ranks would see them.
    const auto odd = run({3, inner}, 0.3, {1, 5, 1, 2});
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t e = 0; e < inner; ++e)
        EXPECT_EQ(odd[size_t(b * inner + e)], whole[size_t((2 * b + 1) * inner + e)]);
  }
}

TEST(Dropout, PaddingOfTheSequenceDoesNotMoveTheMask) {
  const auto longer = run({2, 9, 5}, 0.5, {1, 5, 0, 1}), shorter = run({2, 4, 5}, 0.5, {1, 5, 0, 1});
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t e = 0; e < 20; ++e) EXPECT_EQ(longer[size_t(b * 45 + e)], shorter[size_t(b * 20 + e)]);
}

TEST(Dropout, SeedUpdateAndPathEachChangeTheMask) {
  const auto base = run({2, 500}, 0.5, {1, 5, 0, 1});
  EXPECT_EQ(base, run({2, 500}, 0.5, {1, 5, 0, 1}));
  EXPECT_NE(base, run({2, 500}, 0.5, {2, 5, 0, 1}));
  EXPECT_NE(base, run({2, 500}, 0.5, {1, 6, 0, 1}));
  const PathScope path("h.0");
  EXPECT_NE(base, run({2, 500}, 0.5, {1, 5, 0, 1}));
}

TEST(Dropout, ThreadsAndInstructionSetsGiveTheSameBits) {
  const auto base = run({3, 40001}, 0.25, {1, 5, 0, 1});
  const int threads = num_threads();
  const Isa isa = active_isa();
  for (const int n : {1, 2, 3}) {
    set_num_threads(n);
    for (const Isa forced : {Isa::base, Isa::v3, Isa::v4}) {
      if (forced > best_isa()) continue;
      set_active_isa(forced);
      EXPECT_EQ(base, run({3, 40001}, 0.25, {1, 5, 0, 1}));
    }
  }
  set_active_isa(isa);
  set_num_threads(threads);
}

TEST(Dropout, Gradcheck) {
  const auto f = [](const Vars& v) {
    const RandomScope scope({3, 2, 1, 1});
    return dropout(dropout(v[0], 0.4), 0.3);
  };
  const TensorOptions f64{DType::f64, kCpu, {}};
  EXPECT_EQ(gradcheck(f, {Tensor::randn({3, 5, 7}, 1, f64)}), "");
  EXPECT_EQ(gradcheck(f, {Tensor::randn({7, 5}, 1, f64).transpose(0, 1)}), "");
  EXPECT_EQ(run({0, 4}, 0.5, {3, 2, 1, 1}).size(), 0u);
}

TEST(Dropout, OutsideARandomScopeIsAnError) {
  EXPECT_NO_THROW(dropout(ones({3}), 0));
  EXPECT_THROW(dropout(ones({3}), 0.5), Error);
}

TEST(Dropout, EachCallUnderOnePathHasAMaskOfItsOwnForAnyCutOfTheBatch) {
  const auto two = [](int64_t first, int64_t count) {
    const RandomScope scope({1, 5, first, 1});
    const Tensor x = ones({count, 101});
    return std::pair(dropout(x, 0.5).value().to_vector<float>(), dropout(x, 0.5).value().to_vector<float>());
  };
  const auto whole = two(0, 6);
  EXPECT_NE(whole.first, whole.second);
  std::vector<float> first, second;
  for (const auto& [begin, count] : {std::pair<int64_t, int64_t>{0, 2}, {2, 1}, {3, 3}}) {
    const auto part = two(begin, count);
    first.insert(first.end(), part.first.begin(), part.first.end());
    second.insert(second.end(), part.second.begin(), part.second.end());
  }
  EXPECT_EQ(first, whole.first);
  EXPECT_EQ(second, whole.second);
}

TEST(Dropout, KeepsNothingForTheBackward) {
  const RandomScope scope({1, 5, 0, 1});
  const int64_t before = ledger(kCpu).current()[size_t(Category::activations)];
  const Var x = Var::parameter(ones({8, 100}));
  const Var y = dropout(x, 0.5);
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::activations)], before);
}

}  // namespace
}  // namespace tare
