// SPDX-License-Identifier: Apache-2.0
// The tape itself, on ops that the test records by hand.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"

#include "tests/support/expect_error.h"

namespace tare {
namespace {

Tensor vec(std::vector<double> values) { return Tensor::from_vector(values, {int64_t(values.size())}); }

// y = a + b; the gradient is handed on without a copy.
Var sum_of(const Var& a, const Var& b) {
  Tensor y = Tensor::empty(broadcast_shapes(a.shape(), b.shape(), "sum_of"), {a.dtype(), a.device(), {}});
  copy(a.value().expand(y.shape()), y);
  kernels::accumulate(b.value().expand(y.shape()), y, Accum::add);
  return record("sum_of", y, {a, b}, {}, [](GradOut& out, Saved&, const Tensor& dy) {
    for (size_t i = 0; i < 2; ++i)
      if (out.needs(i)) out.give(i, dy);
  });
}

// y = x * x, saving x.
Var square_of(const Var& x) {
  auto values = x.value().to_vector<double>();
  for (double& v : values) v *= v;
  return record("square", Tensor::from_vector(values, x.shape()), {x}, {x.value()},
                [](GradOut& out, Saved& saved, const Tensor& dy) {
                  const auto in = saved[0].to_vector<double>(), g = dy.to_vector<double>();
                  auto [dx, accum] = out(0);
                  double* p = dx.mutable_data<double>();
                  for (size_t i = 0; i < in.size(); ++i)
                    p[i] = (accum == Accum::add ? p[i] : 0) + 2 * in[i] * g[i];
                });
}

TEST(Engine, GradientsOfSharedInputsAddUp) {
  const Var x = Var::parameter(vec({1, 2, 3}), "x");
  const Var y = sum_of(sum_of(x, x), square_of(x));  // 2x + x^2
  backward(y, {.seed = vec({1, 1, 1})});
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{4, 6, 8}));
}

TEST(Engine, HandedOverGradientsAreNotChangedBehindAnothersBack) {
  const Var a = Var::parameter(vec({1, 2})), b = Var::parameter(vec({3, 4}));
  const Var s = sum_of(a, b);  // both receive the same dy
  const Var y = sum_of(s, square_of(a));
  const Tensor seed = vec({1, 1});
  backward(y, {.seed = seed});
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{3, 5}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{1, 1}));
  EXPECT_EQ(seed.to_vector<double>(), (std::vector<double>{1, 1}));
}

TEST(Engine, ASecondBackwardAddsUntilZeroGrad) {
  Var x = Var::parameter(vec({5}));
  backward(square_of(x));
  backward(square_of(x));
  EXPECT_EQ(x.grad().item<double>(), 20);
  for (const bool keep : {false, true}) {
    x.zero_grad(keep);
    EXPECT_FALSE(x.grad().defined());
    backward(square_of(x));
    EXPECT_EQ(x.grad().item<double>(), 10);
  }
}

TEST(Engine, BroadcastGradientsAreSummedBack) {
  const Var row = Var::parameter(vec({1, 2, 3}));
  const Var column = Var::parameter(vec({10, 20}).view({2, 1}));
  backward(sum_of(row, column), {.seed = Tensor::full({2, 3}, 1, {DType::f64, kCpu, {}})});
  EXPECT_EQ(row.grad().to_vector<double>(), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(column.grad().to_vector<double>(), (std::vector<double>{3, 3}));
}

TEST(Engine, NoGradRecordsNothing) {
  const Var x = Var::parameter(vec({2}));
  const NoGradGuard guard;
  EXPECT_FALSE(square_of(x).requires_grad());
}

TEST(Engine, AChangedSavedTensorIsAnErrorThatNamesTheOp) {
  Var x = Var::parameter(vec({2}));
  const Var y = square_of(x);
  fill(x.mutable_value(), 7);
  try {
    backward(y);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("square"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("changed in place"), std::string::npos) << e.what();
  }
}

TEST(Engine, AfterABackwardThatFailedTheNextOneStartsFromNothing) {
  for (const bool kept : {false, true}) {
    Var x = Var::parameter(vec({2}));
    if (kept) {
      backward(square_of(x));
      x.zero_grad(true);
    }
    const Var fails = record("fails", x.value().clone(), {x}, {}, [](GradOut& out, Saved&, const Tensor&) {
      auto [dx, accum] = out(0);
      fill(dx, 1e30);
      TARE_THROW("fails");
    });
    EXPECT_THROW(backward(fails), Error);
    EXPECT_FALSE(x.grad().defined());
    backward(square_of(x));
    EXPECT_EQ(x.grad().item<double>(), 4);
  }
}

TEST(Engine, AFrozenLeafGetsNothingAndKeepsItsNameHooksAndDtype) {
  Var x = Var::parameter(vec({3}).to(DType::bf16), "x", DType::bf16);  // by default it would be f32
  const Var copy = x;
  int calls = 0;
  x.on_grad_complete([&](Var&) { ++calls; });
  backward(sum_of(x, x));
  EXPECT_EQ(calls, 1);
  const Var before = sum_of(x, x), alone = square_of(x);
  x.set_requires_grad(false);
  EXPECT_FALSE(copy.requires_grad());
  EXPECT_FALSE(copy.grad().defined());
  EXPECT_FALSE(square_of(x).requires_grad());
  backward(before);  // recorded while it wanted a gradient
  backward(alone);
  EXPECT_FALSE(copy.grad().defined());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(copy.name(), "x");
  x.set_requires_grad(true);
  backward(sum_of(x, x));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(copy.grad().item<double>(), 2);
  EXPECT_EQ(copy.grad().dtype(), DType::bf16);
}

TEST(Engine, WhatCannotBeAParameterIsRefused) {
  EXPECT_ERROR(Var::parameter(Tensor(), "w"), "parameter \"w\": the tensor is undefined");
  EXPECT_ERROR(Var::parameter(Tensor::zeros({2}, {DType::i64, kCpu, {}}), "w"), "needs a floating dtype");
  EXPECT_ERROR(Var().set_requires_grad(true), "set_requires_grad", "undefined");
  EXPECT_ERROR(Var(Tensor::zeros({2}, {DType::i64, kCpu, {}})).set_requires_grad(true), "got i64");
}

TEST(Engine, AGradientHasTheDtypeOfItsLeafOrF32IfThatIsHalf) {
  const std::vector<DType> floating = {DType::f64, DType::f32, DType::f16, DType::bf16};
  for (const DType dtype : floating) {
    const Tensor value = Tensor::full({2, 2}, 1, {dtype, kCpu, {}});
    for (const DType grad : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::boolean}) {
      if (grad != dtype && !(is_half(dtype) && grad == DType::f32)) {
        EXPECT_ERROR(Var::parameter(value, "w", grad), "parameter \"w\": the gradient of",
                     ", not " + std::string(name_of(grad)));
        continue;
      }
      // Products, norms and their fused forms, whose kernels write the gradients of leaves themselves.
      const Var w = Var::parameter(value, "w", grad), b = Var::parameter(value.select(0, 0), "b", grad);
      const Var y = gelu_tanh_linear(layernorm_linear(matmul(w, w), b, b, 1e-5, w, b, WeightLayout::in_out),
                                     w, b, WeightLayout::in_out);
      backward(sum(y * w));
      EXPECT_EQ(w.grad().dtype(), grad) << name_of(dtype);
      EXPECT_EQ(b.grad().dtype(), grad) << name_of(dtype);
    }
  }
}

TEST(Engine, AnEmptyHookIsRefusedWhenItIsSet) {
  Var x = Var::parameter(vec({1}));
  EXPECT_ERROR(x.on_grad_complete({}), "on_grad_complete: the hook is empty");
  backward(square_of(x));
  EXPECT_EQ(x.grad().item<double>(), 2);
}

TEST(Engine, AFreedGraphIsAnErrorUnlessRetained) {
  const Var x = Var::parameter(vec({2}));
  const Var y = square_of(x);
  backward(y, {.seed = {}, .retain_graph = true});
  backward(y);
  EXPECT_EQ(x.grad().item<double>(), 8);
  EXPECT_THROW(backward(y), Error);
}

TEST(Engine, HooksFireOncePerPassWithTheCompleteGradient) {
  Var x = Var::parameter(vec({3}));
  int calls = 0;
  double seen = 0;
  x.on_grad_complete([&](Var& v) {
    ++calls;
    seen = v.grad().item<double>();
  });
  backward(sum_of(square_of(x), sum_of(x, x)));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, 8);
}

TEST(Engine, AHookFiresBeforeEarlierOpsRunBackward) {
  Var early = Var::parameter(vec({1})), late = Var::parameter(vec({1}));
  std::vector<std::string> order;
  early.on_grad_complete([&](Var&) { order.push_back("early"); });
  late.on_grad_complete([&](Var&) { order.push_back("late"); });
  const Var first = square_of(square_of(early));
  backward(sum_of(first, square_of(late)));
  EXPECT_EQ(order, (std::vector<std::string>{"late", "early"}));
}

TEST(Engine, VeryDeepChainsDoNotRecurse) {
  const Var x = Var::parameter(vec({1}));
  Var y = x;
  for (int i = 0; i < 100000; ++i) y = sum_of(y, Var(vec({0})));
  backward(y);
  EXPECT_EQ(x.grad().item<double>(), 1);
}

TEST(Engine, SavedTemporariesAreActivationsAndAreFreed) {
  const int64_t before = ledger(kCpu).current()[size_t(Category::activations)];
  {
    const Var x = Var::parameter(vec({1, 2, 3, 4}));
    Var y = square_of(square_of(x));  // saves x (a parameter) and square_of(x)
    EXPECT_EQ(ledger(kCpu).current()[size_t(Category::activations)] - before, 32);
    backward(y, {.seed = vec({1, 1, 1, 1})});
    EXPECT_EQ(ledger(kCpu).current()[size_t(Category::activations)], before);
  }
}

TEST(Engine, LeafGradientsAreChargedToGradients) {
  const int64_t before = ledger(kCpu).current()[size_t(Category::gradients)];
  Var x = Var::parameter(vec({1, 2, 3, 4}));
  backward(square_of(x), {.seed = vec({1, 1, 1, 1})});
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::gradients)] - before, 32);
  x.zero_grad();
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::gradients)], before);
}

TEST(Engine, BackwardRunsUnderThePathOfItsForward) {
  const Var x = Var::parameter(vec({1}));
  std::string seen;
  Var y;
  {
    const PathScope scope("block");
    y = record("probe", x.value().clone(), {x}, {}, [&seen](GradOut& out, Saved&, const Tensor& dy) {
      seen = current_path();
      out.give(0, dy);
    });
  }
  backward(y);
  EXPECT_EQ(seen, "block");
}

TEST(Gradcheck, AcceptsSoftmaxAndRejectsAWrongGradient) {
  const Tensor x = Tensor::randn({3, 5}, 1, {DType::f64, kCpu, {}});
  EXPECT_EQ(gradcheck([](const Vars& v) { return softmax(v[0]); }, {x}), "");
  const auto wrong = [](const Vars& v) {
    return record("wrong", v[0].value().clone(), {v[0]}, {}, [](GradOut& out, Saved&, const Tensor& dy) {
      Tensor g = dy.clone();
      g.mutable_data<double>()[4] *= 1.001;
      out.give(0, g);
    });
  };
  EXPECT_NE(gradcheck(wrong, {x}), "");
}

TEST(Gradcheck, SmallGradientsMustBeRightToo) {
  const Tensor x = Tensor::randn({3, 5}, 1, {DType::f64, kCpu, {}});
  for (const double scale : {1e-7, 1e-12}) {
    const auto scaled = [scale](double factor) {
      return [=](const Vars& v) {
        Tensor y = (v[0] * scale).value();
        return record("scaled", y, {v[0]}, {}, [=](GradOut& out, Saved&, const Tensor& dy) {
          out.give(0, (Var(dy) * (scale * factor)).value());
        });
      };
    };
    EXPECT_EQ(gradcheck(scaled(1), {x}), "");
    EXPECT_NE(gradcheck(scaled(1.0001), {x}), "");
    EXPECT_NE(gradcheck(scaled(0), {x}), "");
  }
}

TEST(Gradcheck, StridedInputsGiveTheSameGradients) {
  const Tensor x = Tensor::randn({5, 3}, 1, {DType::f64, kCpu, {}}).transpose(0, 1);
  EXPECT_EQ(gradcheck([](const Vars& v) { return softmax(v[0]); }, {x}), "");
}

}  // namespace
}  // namespace tare
