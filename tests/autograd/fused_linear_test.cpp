// SPDX-License-Identifier: Apache-2.0
// The fused layers equal the ops they are made of, in values, gradients and what they keep.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

namespace tare {
namespace {

constexpr TensorOptions kF64{DType::f64, kCpu, {}};

struct FusedCase {
  const char* name;
  std::vector<Shape> shapes;
  Var (*fused)(const Vars&, WeightLayout);
  Var (*composed)(const Vars&, WeightLayout);
};

const FusedCase kCases[] = {
    {"gelu_tanh_linear",
     {{2, 3, 6}, {6, 4}, {4}},
     [](const Vars& v, WeightLayout l) { return gelu_tanh_linear(v[0], v[1], v[2], l); },
     [](const Vars& v, WeightLayout l) { return linear(gelu_tanh(v[0]), v[1], v[2], l); }},
    {"gelu_erf_linear",
     {{5, 6}, {6, 4}, {4}},
     [](const Vars& v, WeightLayout l) { return gelu_erf_linear(v[0], v[1], v[2], l); },
     [](const Vars& v, WeightLayout l) { return linear(gelu_erf(v[0]), v[1], v[2], l); }},
    {"layernorm_linear",
     {{2, 3, 6}, {6, 4}, {4}, {6}, {6}},
     [](const Vars& v, WeightLayout l) { return layernorm_linear(v[0], v[3], v[4], 1e-5, v[1], v[2], l); },
     [](const Vars& v, WeightLayout l) { return linear(layernorm(v[0], v[3], v[4], 1e-5), v[1], v[2], l); }},
};

std::vector<Tensor> inputs_of(const FusedCase& c, WeightLayout layout) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    Tensor t = Tensor::randn(c.shapes[i], i + 1, kF64);
    if (i == 1 && layout == WeightLayout::out_in) t = t.transpose(0, 1).contiguous();
    inputs.push_back(t);
  }
  return inputs;
}

TEST(FusedLinear, GradientsAgreeWithDifferences) {
  for (const FusedCase& c : kCases)
    for (const WeightLayout layout : {WeightLayout::in_out, WeightLayout::out_in})
      EXPECT_EQ(gradcheck([&](const Vars& v) { return c.fused(v, layout); }, inputs_of(c, layout)), "")
          << c.name;
}

TEST(FusedLinear, GradientsOfAnySubsetOfInputsAgree) {
  for (const FusedCase& c : kCases)
    for (size_t wanted = 0; wanted < c.shapes.size(); ++wanted) {
      GradcheckOptions options;
      options.wanted.assign(c.shapes.size(), false);
      options.wanted[wanted] = true;
      const auto f = [&](const Vars& v) { return c.fused(v, WeightLayout::in_out); };
      EXPECT_EQ(gradcheck(f, inputs_of(c, WeightLayout::in_out), options), "")
          << c.name << " input " << wanted;
    }
}

TEST(FusedLinear, StridedOperandsGiveTheSameGradients) {
  for (const FusedCase& c : kCases) {
    std::vector<Tensor> inputs = inputs_of(c, WeightLayout::in_out);
    inputs[0] = inputs[0].transpose(0, -2).contiguous().transpose(0, -2);
    inputs[1] = inputs[1].transpose(0, 1).contiguous().transpose(0, 1);
    EXPECT_EQ(gradcheck([&](const Vars& v) { return c.fused(v, WeightLayout::in_out); }, inputs), "")
        << c.name;
  }
}

TEST(FusedLinear, TheResultIsThatOfTheComposition) {
  for (const FusedCase& c : kCases) {
    const std::vector<Tensor> inputs = inputs_of(c, WeightLayout::in_out);
    const Vars vars(inputs.begin(), inputs.end());
    EXPECT_EQ(c.fused(vars, WeightLayout::in_out).value().to_vector<double>(),
              c.composed(vars, WeightLayout::in_out).value().to_vector<double>())
        << c.name;
  }
}

TEST(FusedLinear, OnlyTheInputIsKept) {
  const auto kept = [](const FusedCase& c, Var (*f)(const Vars&, WeightLayout)) {
    Vars vars;
    for (const Tensor& t : inputs_of(c, WeightLayout::in_out)) vars.push_back(Var::parameter(t));
    const Var x = square(vars[0]);  // a temporary, so that keeping it counts
    vars[0] = x;
    const int64_t before = ledger(kCpu).current()[size_t(Category::activations)];
    const Var y = f(vars, WeightLayout::in_out);
    return ledger(kCpu).current()[size_t(Category::activations)] - before;
  };
  for (const FusedCase& c : kCases) {
    const int64_t input = c.shapes[0].numel() * 8, statistics = c.shapes.size() > 3 ? 2 * 6 * 8 : 0;
    EXPECT_EQ(kept(c, c.fused), input + statistics) << c.name;
    EXPECT_GT(kept(c, c.composed), input + statistics) << c.name;
  }
}

TEST(FusedLinear, TheBackwardOfAnActivationNeedsOneBufferOfItsSize) {
  for (const FusedCase& c : {kCases[0], kCases[1]}) {
    Vars vars;
    for (const Tensor& t : inputs_of(c, WeightLayout::in_out)) vars.push_back(Var::parameter(t));
    vars[0] = square(vars[0]);
    const Var y = c.fused(vars, WeightLayout::in_out);
    const Tensor seed = Tensor::full(y.shape(), 1, kF64);
    ledger(kCpu).reset_peaks();
    const int64_t before = ledger(kCpu).current()[size_t(Category::temporaries)];
    backward(y, {.seed = seed});
    EXPECT_EQ(ledger(kCpu).report().own_peak[size_t(Category::temporaries)] - before, c.shapes[0].numel() * 8)
        << c.name;
  }
}

TEST(FusedLinear, AnInputThatIsUsedTwiceGetsTheSumOfItsGradients) {
  for (const FusedCase& c : kCases) {
    const auto f = [&](const Vars& v) {
      return c.fused(v, WeightLayout::in_out) + c.fused(v, WeightLayout::in_out) * sum(v[0]);
    };
    EXPECT_EQ(gradcheck(f, inputs_of(c, WeightLayout::in_out)), "") << c.name;
  }
}

}  // namespace
}  // namespace tare
