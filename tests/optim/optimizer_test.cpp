// SPDX-License-Identifier: Apache-2.0
// The step of an optimizer: known values, clipping, skipping, saving.
#include "tare/optim/optimizer.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tare/optim/adamw.h"
#include "tare/optim/factory.h"
#include "tare/optim/sgd.h"

namespace tare::optim {
namespace {

Var parameter(const std::string& name, const std::vector<float>& values) {
  return Var::parameter(Tensor::from_vector(values, {int64_t(values.size())}), name);
}

void set_gradient(Var& p, const std::vector<float>& values) {
  p.zero_grad();
  backward(p, {.seed = Tensor::from_vector(values, p.shape())});
}

void expect_near(const Tensor& t, const std::vector<double>& expected, double tolerance) {
  const auto values = t.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(AdamW, ThreeStepsGiveTorchsValues) {
  Var p = parameter("p", {1, -2, 3});
  AdamW optimizer({{{p}, true}}, {.lr = 0.01, .weight_decay = 0.01});
  for (int t = 1; t <= 3; ++t) {
    set_gradient(p, {0.1f * float(t), -0.2f * float(t), 0.3f * float(t)});
    const StepReport report = optimizer.step().wait();
    EXPECT_TRUE(report.stepped);
    EXPECT_EQ(report.update, t);
    EXPECT_NEAR(report.grad_norm, t * std::sqrt(0.14), 1e-6);
  }
  expect_near(p.value(), {0.97047108, -1.97017121, 2.96987128}, 3e-7);
  const NamedTensors state = optimizer.state();
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].first, "p.exp_avg");
  expect_near(state[0].second, {.0561, -.1122, .1683}, 1e-7);
  EXPECT_EQ(state[1].first, "p.exp_avg_sq");
  expect_near(state[1].second, {1.39940e-4, 5.59760e-4, 1.259460e-3}, 1e-9);
}

TEST(Optimizer, ClippingIsFoldedIntoTheUpdate) {
  Var p = parameter("p", {0, 0});
  Sgd optimizer({{{p}, true}}, {.lr = 1});
  set_gradient(p, {3, 4});
  EXPECT_NEAR(optimizer.step({.max_grad_norm = 1}).wait().grad_norm, 5, 1e-6);
  expect_near(p.value(), {-0.59999990, -0.79999983}, 1e-7);
  EXPECT_EQ(p.grad().to_vector<float>(), (std::vector<float>{3, 4}));  // left as they were
}

TEST(Optimizer, AGradientThatIsNotFiniteChangesNothingAndIsNamed) {
  Var a = parameter("layer.a", {1, 2}), b = parameter("layer.b", {3, 4});
  AdamW optimizer({{{a, b}, true}});
  set_gradient(a, {1, 1});
  set_gradient(b, {1, 1});
  optimizer.step();
  const auto a_before = a.value().to_vector<float>(), b_before = b.value().to_vector<float>();
  const auto m_before = optimizer.state()[0].second.to_vector<float>();
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    set_gradient(a, {1, 1});
    set_gradient(b, {1, bad});
    const StepReport report = optimizer.step({.nonfinite = NonFinitePolicy::skip}).wait();
    EXPECT_FALSE(report.stepped);
    EXPECT_EQ(report.nonfinite, "layer.b");
    EXPECT_EQ(report.update, 1);
    EXPECT_NE(message_of([&] { optimizer.step().wait(); }).find("layer.b"), std::string::npos);
    EXPECT_EQ(a.value().to_vector<float>(), a_before);
    EXPECT_EQ(b.value().to_vector<float>(), b_before);
    EXPECT_EQ(optimizer.state()[0].second.to_vector<float>(), m_before);
  }
}

TEST(Optimizer, LargeFiniteGradientsAreNotTakenForInfinite) {
  Var p = parameter("p", {0, 0});
  Sgd optimizer({{{p}, true}}, {.lr = 0});
  set_gradient(p, {1e30f, -1e30f});
  const StepReport report = optimizer.step().wait();
  EXPECT_TRUE(report.stepped);
  EXPECT_NEAR(report.grad_norm / (1e30 * std::sqrt(2.0)), 1, 1e-6);
}

TEST(Optimizer, AParameterWithoutGradientIsLeftAloneAndKeepsItsOwnCount) {
  Var a = parameter("a", {1}), b = parameter("b", {1}), alone = parameter("alone", {1});
  AdamW optimizer({{{a, b}, true}}, {.lr = 0.1}), single({{{alone}, true}}, {.lr = 0.1});
  set_gradient(a, {1});
  optimizer.step();
  EXPECT_EQ(b.value().item<float>(), 1);
  EXPECT_EQ(optimizer.state().size(), 2u);  // b has none yet
  set_gradient(b, {0.5f});
  set_gradient(alone, {0.5f});
  optimizer.step();
  single.step();
  EXPECT_EQ(b.value().item<float>(), alone.value().item<float>());  // bias correction of its first step
}

TEST(Optimizer, SavedInMidRunItGoesOnBitForBit) {
  for (const char* text :
       {"adamw:lr=0.1", "sgd:lr=0.1,momentum=0.9", "sgd:lr=0.1,momentum=0.9,nesterov=true"}) {
    Var p = parameter("p", {1, 2, 3}), q = parameter("p", {1, 2, 3});
    const auto straight = make_optimizer(text, {{{p}, true}});
    const auto first = make_optimizer(text, {{{q}, true}}), resumed = make_optimizer(text, {{{q}, true}});
    for (int t = 0; t < 6; ++t) {
      const std::vector<float> g{0.1f * float(t + 1), -0.3f, 0.7f / float(t + 1)};
      set_gradient(p, g);
      set_gradient(q, g);
      straight->step();
      if (t == 3) resumed->load(first->state(), first->metadata());
      (t < 3 ? first : resumed)->step();
    }
    EXPECT_EQ(p.value().to_vector<float>(), q.value().to_vector<float>()) << text;
  }
}

TEST(Optimizer, LoadingNamesWhatDoesNotFit) {
  Var p = parameter("p", {1, 2, 3}), other = parameter("other", {1, 2, 3}),
      longer = parameter("p", {1, 2, 3, 4});
  AdamW optimizer({{{p}, true}});
  set_gradient(p, {1, 1, 1});
  optimizer.step();
  const auto state = optimizer.state();
  const auto metadata = optimizer.metadata();
  AdamW renamed({{{other}, true}}), resized({{{longer}, true}}),
      decayed({{{p}, true}}, {.weight_decay = 0.5});
  Sgd sgd({{{p}, true}});
  EXPECT_NE(message_of([&] { renamed.load(state, metadata); }).find("\"step.p\" is 1, this run has none"),
            std::string::npos);
  EXPECT_NE(message_of([&] { resized.load(state, metadata); }).find("(3) of f32, expected (4)"),
            std::string::npos);
  EXPECT_NE(message_of([&] { decayed.load(state, metadata); }).find("weight_decay is 0.01, this run has 0.5"),
            std::string::npos);
  EXPECT_NE(message_of([&] { sgd.load(state, metadata); }).find("optimizer is adamw, this run has sgd"),
            std::string::npos);
}

TEST(Optimizer, LoadingNamesEachFaultAndThenChangesNothing) {
  Var p = parameter("p", {1, 2, 3}), q = parameter("q", {4, 5});
  AdamW optimizer({{{p, q}, true}});
  for (int t = 0; t < 2; ++t) {
    set_gradient(p, {1, 1, 1});
    optimizer.step();
    set_gradient(q, {1, 1});  // from the second update on
  }
  const NamedTensors state = optimizer.state();
  const auto metadata = optimizer.metadata();
  ASSERT_EQ(state.size(), 4u);
  EXPECT_EQ(metadata.at("step.p"), "2");
  EXPECT_EQ(metadata.at("step.q"), "1");
  const auto first = state[0].second.to_vector<float>();
  const auto with_state = [&](auto change) {
    NamedTensors bad = state;
    change(bad);
    return std::function([&, bad] { optimizer.load(bad, metadata); });
  };
  const auto with_field = [&](const char* key, const char* value) {
    auto bad = metadata;
    if (value)
      bad[key] = value;
    else
      bad.erase(key);
    return std::function([&, bad] { optimizer.load(state, bad); });
  };
  const std::pair<std::function<void()>, const char*> faults[] = {
      {with_state([](NamedTensors& s) { s.pop_back(); }), "\"q.exp_avg_sq\" is missing"},
      {with_state([](NamedTensors& s) { s.emplace_back("r.exp_avg", Tensor::zeros({3})); }),
       "\"r.exp_avg\" belongs to no parameter"},
      {with_state([](NamedTensors& s) { s.emplace_back("p.exp_avg", Tensor::zeros({3})); }),
       "\"p.exp_avg\" stands twice"},
      {with_state([](NamedTensors& s) {
         s[1].second = Tensor::zeros({3, 1});
       }),
       "\"p.exp_avg_sq\" is (3, 1) of f32, expected (3) of f32"},
      {with_state([](NamedTensors& s) {
         s[2].second = Tensor::zeros({2}, {DType::f64, kCpu, {}});
       }),
       "\"q.exp_avg\" is (2) of f64, expected (2) of f32"},
      {with_field("update", nullptr), "the metadata has no \"update\""},
      {with_field("update", "2x"), "update is \"2x\", expected a count"},
      {with_field("version", "1"), "version is 1, this run has 2"},
      {with_field("step.q", nullptr), "the metadata has no \"step.q\""},
      {with_field("step.q", "-1"), "step.q is \"-1\", expected a count"},
      {with_field("step.q", "3"), "step.q is 3, more than the 2 updates"},
      {with_field("step.r", "1"), "\"step.r\" is 1, this run has none"},
      {with_field("group.p", "lr_factor=2"), "\"group.p\" is lr_factor=2, this run has none"},
  };
  for (const auto& [load, message] : faults) {
    EXPECT_NE(message_of(load).find(message), std::string::npos) << message << "; got: " << message_of(load);
    EXPECT_EQ(optimizer.metadata(), metadata) << message;
    EXPECT_EQ(optimizer.state()[0].second.raw(), state[0].second.raw()) << message;
    EXPECT_EQ(optimizer.state()[0].second.to_vector<float>(), first) << message;
  }
  // States of a parameter that was in no update: all of them or none.
  auto never = metadata;
  never["step.q"] = "0";
  NamedTensors some(state.begin(), state.begin() + 3), none(state.begin(), state.begin() + 2);
  EXPECT_NE(message_of([&] { optimizer.load(some, never); }).find("\"q.exp_avg_sq\" is missing"),
            std::string::npos);
  optimizer.load(none, never);
  EXPECT_EQ(optimizer.state().size(), 2u);
  optimizer.load(state, metadata);
  EXPECT_EQ(optimizer.state().size(), 4u);
}

TEST(Optimizer, LoadingWritesIntoTheStatesThatThereAre) {
  const auto held = [] { return ledger(kCpu).current()[size_t(Category::optimizer_state)]; };
  Var p = parameter("p", {1, 2, 3}), q = parameter("p", {1, 2, 3});
  AdamW from({{{p}, true}}), to({{{q}, true}});
  set_gradient(p, {1, -1, 2});
  set_gradient(q, {5, 5, 5});
  from.step();
  to.step();
  const NamedTensors before = to.state();
  const int64_t bytes = held();
  to.load(from.state(), from.metadata());
  EXPECT_EQ(held(), bytes);
  for (size_t k = 0; k < before.size(); ++k) {
    EXPECT_EQ(to.state()[k].second.raw(), before[k].second.raw());
    EXPECT_EQ(before[k].second.to_vector<float>(), from.state()[k].second.to_vector<float>());
  }
  to.load(to.state(), to.metadata());  // its own
  EXPECT_EQ(before[0].second.to_vector<float>(), from.state()[0].second.to_vector<float>());
}

TEST(Optimizer, StateBytesOfEveryOptimizerAndDtypeAreWhatTheFirstStepCharges) {
  const auto held = [] { return ledger(kCpu).current()[size_t(Category::optimizer_state)]; };
  const int64_t before = held();
  for (auto [text, states] : {std::pair<const char*, int64_t>{"sgd", 0},
                              {"sgd:momentum=0.9", 1},
                              {"sgd:momentum=0.9,nesterov=true", 1},
                              {"adamw", 2}})
    for (auto [dtype, size] :
         {std::pair{DType::f32, 4}, {DType::f64, 8}, {DType::bf16, 4}, {DType::f16, 4}}) {
      Vars params;
      for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{0}, Shape{1001}}) {
        const Tensor value = Tensor::full(shape, 1, {dtype, kCpu, {}});
        params.push_back(Var::parameter(value, detail::concat("p", params.size())));
        backward(params.back(), {.seed = value});
      }
      const auto optimizer = make_optimizer(text, {{params, true}});
      EXPECT_EQ(optimizer->state_bytes(), states * size * (15 + 1 + 0 + 1001)) << text << " " << dtype;
      EXPECT_EQ(held(), before);
      for (int step = 0; step < 2; ++step) {
        optimizer->step();
        EXPECT_EQ(held() - before, optimizer->state_bytes()) << text << " " << dtype;
      }
      EXPECT_EQ(optimizer->state().size(), size_t(states) * params.size());
    }
}

TEST(Optimizer, StateBytesArePredictedAndCharged) {
  const auto held = [] { return ledger(kCpu).current()[size_t(Category::optimizer_state)]; };
  const int64_t before = held();
  Var p = parameter("p", std::vector<float>(1000, 1)), q = parameter("q", {1, 2, 3});
  AdamW optimizer({{{p}, true}, {{q}, false}});
  EXPECT_EQ(optimizer.state_bytes(), 8 * 1003);
  EXPECT_EQ(held(), before);
  set_gradient(p, std::vector<float>(1000, 1));
  set_gradient(q, {1, 1, 1});
  optimizer.step();
  EXPECT_EQ(held() - before, optimizer.state_bytes());
  const Tensor stray = Tensor::empty({1}, {DType::u8, kCpu, Category::optimizer_state});
  EXPECT_NE(held() - before, optimizer.state_bytes());
}

TEST(Factory, MistakesAreErrorsThatSayWhatThereIs) {
  const std::vector<ParamGroup> groups{{{parameter("p", {1})}, true}};
  const auto message = [&](const char* text) { return message_of([&] { make_optimizer(text, groups); }); };
  EXPECT_NE(message("adam").find("expected one of adamw, adamw8bit, adafactor, sgd"), std::string::npos);
  EXPECT_NE(message("adamw:lr=-1").find("learning rate -1"), std::string::npos);
  EXPECT_NE(message("adamw:beta1=1").find("beta1 1 must lie in [0, 1)"), std::string::npos);
  EXPECT_NE(message("adamw:beta3=0.1").find("no option beta3"), std::string::npos);
  EXPECT_NE(message("sgd:nesterov=true").find("nesterov needs a momentum"), std::string::npos);
  EXPECT_NE(message("sgd:dampening=0.1").find("does nothing without momentum"), std::string::npos);
  EXPECT_NE(message("sgd:momentum=0.9,nesterov=true,dampening=0.1").find("no dampening"), std::string::npos);
  EXPECT_NE(message("sgd:beta1=0.9").find("sgd has no option beta1; it has dampening, lr"),
            std::string::npos);
  EXPECT_NE(message("adamw:momentum=0.9").find("adamw has no option momentum"), std::string::npos);
  EXPECT_NE(message("sgd:lr=1,lr=2").find("sgd:lr=1,lr=2"), std::string::npos);
}

}  // namespace
}  // namespace tare::optim
