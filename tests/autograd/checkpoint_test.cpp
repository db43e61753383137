// SPDX-License-Identifier: Apache-2.0
// Checkpointed functions: the same gradients to the last bit, less memory in between, hooks called once.
#include "tare/autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "tare/autograd/ops.h"
#include "tare/core/ledger.h"
#include "tare/core/random_scope.h"
#include "tare/core/scope.h"
#include "tare/kernels/profile.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

constexpr int64_t kWidth = 24;

// A chain of blocks x + dropout(gelu(linear(layernorm(x)))), each under a path of its own.
struct Chain {
  struct Block {
    Var gamma, beta, w, b;
  };
  std::vector<Block> blocks;

  explicit Chain(int n) {
    for (int i = 0; i < n; ++i)
      blocks.push_back({Var::parameter(Tensor::randn({kWidth}, 10 * i + 1), "gamma" + std::to_string(i)),
                        Var::parameter(Tensor::randn({kWidth}, 10 * i + 2), "beta" + std::to_string(i)),
                        Var::parameter(Tensor::randn({kWidth, kWidth}, 10 * i + 3), "w" + std::to_string(i)),
                        Var::parameter(Tensor::randn({kWidth}, 10 * i + 4), "b" + std::to_string(i))});
  }

  Var block(size_t i, const Var& x) const {
    const PathScope path("h." + std::to_string(i));
    const Block& p = blocks[i];
    return x + dropout(gelu_tanh(linear(layernorm(x, p.gamma, p.beta, 1e-5), p.w, p.b)), 0.1);
  }

  Vars parameters() const {
    Vars all;
    for (const Block& p : blocks) all.insert(all.end(), {p.gamma, p.beta, p.w, p.b});
    return all;
  }

  using Forward = std::function<Var(const Var& x)>;
  // The gradients of all parameters and of x, if it wants one, after one pass.
  std::vector<std::vector<float>> gradients(Var x, const Forward& forward, int passes = 1) const {
    Vars wanted = parameters();
    if (x.requires_grad()) wanted.push_back(x);
    for (Var& v : wanted) v.zero_grad();
    {
      const RandomScope random({.seed = 7, .update = 3});
      const Var y = mean(square(forward(x)));
      for (int pass = 0; pass < passes; ++pass) backward(y, {.retain_graph = pass + 1 < passes});
    }
    std::vector<std::vector<float>> list;
    for (const Var& v : wanted)
      list.push_back(v.grad().defined() ? v.grad().to_vector<float>() : std::vector<float>());
    return list;
  }

  Var plain(Var x) const {
    for (size_t i = 0; i < blocks.size(); ++i) x = block(i, x);
    return x;
  }
  // Segments of `every` blocks, each run again in the backward.
  Var checkpointed(Var x, size_t every) const {
    for (size_t i = 0; i < blocks.size(); i += every) {
      x = checkpoint(
          [this, i, every](const Vars& in) {
            Var y = in[0];
            for (size_t k = i; k < std::min(i + every, blocks.size()); ++k) y = block(k, y);
            return y;
          },
          {x});
    }
    return x;
  }
};

int64_t recomputations(const std::function<void()>& work) {
  kernels::Profiler profiler;
  profiler.start();
  work();
  profiler.stop();
  for (const kernels::KernelStats& s : profiler.stats())
    if (s.name == "recompute") return s.calls;
  return 0;
}

Var leaf(const Shape& shape, uint64_t seed) { return Var::parameter(Tensor::randn(shape, seed), "x"); }

TEST(Checkpoint, GradientsEqualThoseOfThePlainCallBitForBit) {
  const Chain chain(5);
  const Var x = leaf({2, 6, kWidth}, 99);
  const auto plain = chain.gradients(x, [&](const Var& v) { return chain.plain(v); });
  for (const size_t every : {1, 2, 3, 5})
    EXPECT_EQ(chain.gradients(x, [&](const Var& v) { return chain.checkpointed(v, every); }), plain) << every;
  // The masks matter: another update's differ.
  const RandomScope other({.seed = 7, .update = 4});
  const Var y = mean(square(chain.plain(x)));
  for (Var& v : chain.parameters()) v.zero_grad();
  backward(y);
  EXPECT_NE(chain.blocks[0].w.grad().to_vector<float>(), plain[2]);
}

TEST(Checkpoint, NestsAndCountsItsRuns) {
  const Chain chain(4);
  const Var x = leaf({3, kWidth}, 98);
  const auto nested = [&](const Var& v) {
    return checkpoint([&chain](const Vars& in) { return chain.checkpointed(chain.block(0, in[0]), 2); }, {v});
  };
  const auto plain = chain.gradients(x, [&](const Var& v) { return chain.plain(chain.block(0, v)); });
  EXPECT_EQ(recomputations([&] { EXPECT_EQ(chain.gradients(x, nested), plain); }), 3);
  EXPECT_EQ(
      recomputations([&] { chain.gradients(x, [&](const Var& v) { return chain.checkpointed(v, 1); }); }), 4);
  EXPECT_EQ(recomputations([&] { chain.gradients(x, [&](const Var& v) { return chain.plain(v); }); }), 0);
}

TEST(Checkpoint, InputsMayWantNoGradientAndAPrefixMayBeFrozen) {
  Chain chain(3);
  const Var constant(Tensor::randn({2, kWidth}, 97));
  const auto plain = [&](const Var& v) { return chain.plain(v); };
  const auto again = [&](const Var& v) { return chain.checkpointed(v, 1); };
  EXPECT_EQ(chain.gradients(constant, again), chain.gradients(constant, plain));
  for (Var* p : {&chain.blocks[0].gamma, &chain.blocks[0].beta, &chain.blocks[0].w, &chain.blocks[0].b})
    p->set_requires_grad(false);
  std::vector<std::vector<float>> frozen;
  EXPECT_EQ(recomputations([&] { frozen = chain.gradients(constant, again); }), 2)
      << "the frozen block is not redone";
  EXPECT_EQ(frozen, chain.gradients(constant, plain));
  EXPECT_TRUE(frozen[0].empty());
  // With everything frozen there is nothing to record.
  for (Var& p : chain.parameters()) p.set_requires_grad(false);
  const RandomScope random({.seed = 7, .update = 3});
  EXPECT_FALSE(again(constant).requires_grad());
}

TEST(Checkpoint, HooksFireOncePerPassWhereAParameterIsUsedInsideAndOutside) {
  Chain chain(2);
  const Var x = leaf({2, kWidth}, 96);
  Var shared = chain.blocks[0].w;
  const auto forward = [&](const Var& v, bool again) {
    const Var y = again ? chain.checkpointed(v, 1) : chain.plain(v);
    return linear(linear(y, shared), chain.blocks[1].w);
  };
  const auto plain = chain.gradients(x, [&](const Var& v) { return forward(v, false); });
  int calls = 0;
  std::vector<float> seen;
  shared.on_grad_complete([&](Var& v) {
    ++calls;
    seen = v.grad().to_vector<float>();
  });
  EXPECT_EQ(chain.gradients(x, [&](const Var& v) { return forward(v, true); }), plain);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, plain[2]) << "complete, with both uses";
}

TEST(Checkpoint, MayCaptureVarsThatAreNoInputs) {
  const Chain chain(2);
  const Var x = leaf({2, kWidth}, 95);
  const auto plain = chain.gradients(x, [&](const Var& v) {
    const Var y = chain.block(0, v);
    return chain.block(1, y) * y;
  });
  const auto captured = [&](const Var& v) {
    const Var y = chain.block(0, v);
    return checkpoint([&chain, y](const Vars&) { return chain.block(1, y) * y; }, {});
  };
  EXPECT_EQ(chain.gradients(x, captured), plain);
}

TEST(Checkpoint, KeepsItsInputsAloneUntilBackward) {
  const Chain chain(4);
  const Var x = leaf({64, kWidth}, 94);
  const RandomScope random({.seed = 7, .update = 3});
  const auto kept = [&](const std::function<Var()>& forward) {
    const int64_t before = ledger(kCpu).total();
    const Var y = forward();
    return ledger(kCpu).total() - before;
  };
  const int64_t row = x.value().nbytes();
  EXPECT_EQ(kept([&] { return chain.checkpointed(x, 1); }), 4 * row) << "three inputs and the result";
  EXPECT_EQ(kept([&] { return chain.checkpointed(x, 4); }), row) << "x is a parameter: the result alone";
  EXPECT_GT(kept([&] { return chain.plain(x); }), 10 * row);
}

TEST(Checkpoint, AGraphThatIsRetainedGivesTheSameGradientsAgain) {
  const Chain chain(3);
  const Var x = leaf({2, kWidth}, 93);
  const auto plain = chain.gradients(
      x, [&](const Var& v) { return chain.plain(v); }, 2);
  std::vector<std::vector<float>> twice;
  EXPECT_EQ(recomputations([&] {
              twice = chain.gradients(
                  x, [&](const Var& v) { return chain.checkpointed(v, 2); }, 2);
            }),
            4);
  EXPECT_EQ(twice, plain);
  const RandomScope random({.seed = 7, .update = 3});
  const Var y = mean(chain.checkpointed(x, 2));
  backward(y);
  EXPECT_THROW(backward(y), Error) << "freed by the first pass";
}

TEST(Checkpoint, TheFusedLossFormsItsGradientsInTheSecondRunOnly) {
  const Var x = leaf({8, kWidth}, 92);
  const Var head = Var::parameter(Tensor::randn({11, kWidth}, 91), "head");
  const Tensor labels = Tensor::arange(0, 8, 1, {DType::i64, kCpu, {}});
  const auto loss = [&](const Vars& in) {
    return linear_cross_entropy(in[0], head, labels, {.scale = 0.125}).sum;
  };
  backward(loss({x}));
  const auto dx = x.grad().to_vector<float>(), dhead = head.grad().to_vector<float>();
  Var(x).zero_grad();
  Var(head).zero_grad();
  const int64_t before = ledger(kCpu).current()[size_t(Category::gradients)];
  const Var y = checkpoint(loss, {x});
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::gradients)], before);
  backward(y);
  EXPECT_EQ(x.grad().to_vector<float>(), dx);
  EXPECT_EQ(head.grad().to_vector<float>(), dhead);
}

TEST(Checkpoint, ChangesInPlaceBetweenTheRunsAreErrors) {
  Chain chain(2);
  Var x = leaf({2, kWidth}, 90);
  const RandomScope random({.seed = 7, .update = 3});
  const Var y = mean(chain.checkpointed(x, 2));
  chain.blocks[1].w.mutable_value().mutable_data<float>()[0] += 1;
  EXPECT_ERROR(backward(y), "checkpoint", "changed in place");
  const Var z = mean(chain.checkpointed(x, 2));
  x.mutable_value().mutable_data<float>()[0] += 1;
  EXPECT_ERROR(backward(z), "checkpoint", "changed in place");
}

TEST(Checkpoint, WhatDoesNotRepeatItselfIsAnError) {
  const Var x = leaf({2, kWidth}, 89);
  int calls = 0;
  const Var y = checkpoint(
      [&calls](const Vars& in) { return ++calls == 1 ? square(in[0]) : sum(in[0], Axes{0}); }, {x});
  EXPECT_ERROR(backward(mean(y)), "checkpoint", "(2, 24)", "(24)");
  EXPECT_THROW(checkpoint({}, {x}), Error);
  EXPECT_THROW(checkpoint([](const Vars&) { return Var(); }, {x}), Error);
}

TEST(Checkpoint, AChainOfAnyLengthIsFreedWithoutRecursion) {
  const Var x = leaf({1}, 85);
  Var y = x, z = x;
  for (int i = 0; i < 200000; ++i) {
    y = checkpoint([](const Vars& in) { return -in[0]; }, {y});
    z = checkpoint([z](const Vars&) { return -z; }, {});
  }
  y = {};
  z = {};
  EXPECT_FALSE(x.grad().defined());
}

TEST(Checkpoint, WithoutGradientsItIsTheFunction) {
  const Var x = leaf({2, kWidth}, 88);
  const NoGradGuard off;
  int calls = 0;
  const Var y = checkpoint(
      [&calls](const Vars& in) {
        ++calls;
        return square(in[0]);
      },
      {x});
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(y.requires_grad());
}

TEST(Checkpoint, AGuardInsideTheFunctionHolds) {
  const Var x = leaf({2, kWidth}, 87), w = leaf({2, kWidth}, 86);
  const auto f = [&w](const Vars& in) {
    Var factor;
    {
      const NoGradGuard off;
      factor = square(w);
    }
    return in[0] * factor;
  };
  backward(mean(checkpoint(f, {x})));
  EXPECT_FALSE(w.grad().defined());
  const auto dx = x.grad().to_vector<float>();
  Var(x).zero_grad();
  backward(mean(f({x})));
  EXPECT_EQ(x.grad().to_vector<float>(), dx);
  // A function that hands an input back records nothing.
  EXPECT_EQ(checkpoint([](const Vars& in) { return in[0]; }, {x}).node(), x.node());
}

}  // namespace
}  // namespace tare
