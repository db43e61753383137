// SPDX-License-Identifier: Apache-2.0
// Steps that nobody waits for, and groups with settings of their own.
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tare/optim/adamw.h"
#include "tare/optim/sgd.h"

#include "tests/support/expect_error.h"

namespace tare::optim {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Var parameter(const std::string& name, float value = 1) {
  return Var::parameter(Tensor::full({1}, value), name);
}

void set_gradient(Var& p, float value) {
  p.zero_grad();
  backward(p, {.seed = Tensor::full({1}, value)});
}

TEST(Step, an_error_that_nobody_waited_for_is_thrown_once_by_what_comes_next) {
  const std::function<void(Optimizer&)> calls[] = {
      [](Optimizer& o) { o.step(); },          [](Optimizer& o) { o.updates(); },
      [](Optimizer& o) { o.learning_rate(); }, [](Optimizer& o) { o.state(); },
      [](Optimizer& o) { o.metadata(); },      [](Optimizer& o) { o.load({}, {}); }};
  for (const auto& next : calls) {
    Var p = parameter("layer.p");
    AdamW optimizer({{{p}}});
    set_gradient(p, kNaN);
    optimizer.step();
    optimizer.zero_grad();  // what a loop does next; it waits for nothing
    set_gradient(p, 1);
    EXPECT_ERROR(next(optimizer), "the gradient of layer.p is not finite; nothing was changed, update 1 is");
    EXPECT_EQ(optimizer.updates(), 0);
    EXPECT_EQ(p.value().item<float>(), 1);
    EXPECT_EQ(optimizer.step().wait().update, 1);  // the gradient of this step was left alone
    EXPECT_EQ(optimizer.metadata().at("step.layer.p"), "1");
  }
}

TEST(Step, who_waited_for_an_error_was_told_and_may_ask_again) {
  Var p = parameter("p");
  AdamW optimizer({{{p}}});
  set_gradient(p, kNaN);
  const StepHandle handle = optimizer.step();
  EXPECT_ERROR(handle.wait(), "the gradient of p is not finite");
  set_gradient(p, 1);
  EXPECT_TRUE(optimizer.step().wait().stepped);
  EXPECT_ERROR(handle.wait(), "the gradient of p is not finite");
}

TEST(Step, a_report_is_that_of_its_own_step_however_late_it_is_read) {
  Var p = parameter("p");
  Sgd optimizer({{{p}}}, {.lr = 0.5});
  std::vector<StepHandle> handles;
  for (const float g : {3.f, kNaN, -4.f}) {
    set_gradient(p, g);
    handles.push_back(optimizer.step({.nonfinite = NonFinitePolicy::skip}));
  }
  EXPECT_EQ(handles[0].wait().grad_norm, 3);
  EXPECT_EQ(handles[0].wait().update, 1);
  EXPECT_FALSE(handles[1].wait().stepped);
  EXPECT_EQ(handles[1].wait().update, 1);
  EXPECT_EQ(handles[2].wait().grad_norm, 4);
  EXPECT_EQ(handles[2].wait().update, 2);
  EXPECT_EQ(p.value().item<float>(), 1.5f);
}

TEST(Step, an_error_that_is_dropped_with_the_optimizer_goes_to_stderr) {
  Var p = parameter("layer.p");
  const auto stderr_of = [&](float gradient, const StepOptions& options) {
    testing::internal::CaptureStderr();
    {
      AdamW optimizer({{{p}}});
      set_gradient(p, gradient);
      optimizer.step(options);
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(stderr_of(kNaN, {}).find("the gradient of layer.p is not finite"), std::string::npos);
  EXPECT_EQ(stderr_of(kNaN, {.nonfinite = NonFinitePolicy::skip}), "");
  EXPECT_EQ(stderr_of(1, {}), "");
}

TEST(Step, a_handle_outlives_the_optimizer) {
  Var p = parameter("p");
  set_gradient(p, 2);
  const StepHandle handle = AdamW({{{p}}}).step();
  EXPECT_EQ(handle.wait().grad_norm, 2);
}

TEST(Groups, have_their_own_rate_and_decay) {
  Var a = parameter("a"), b = parameter("b"), c = parameter("c"), alone = parameter("alone");
  AdamW optimizer({{.params = {a}, .lr_factor = 0.5}, {.params = {b}, .weight_decay = 0.25}, {{c}, false}},
                  {.lr = 0.5, .weight_decay = 0.125});
  AdamW half_rate({{{alone}}}, {.lr = 0.25, .weight_decay = 0.125});
  for (Var* p : {&a, &b, &c, &alone}) set_gradient(*p, 0);  // nothing but decay
  EXPECT_EQ(optimizer.step().wait().learning_rate, 0.5);
  half_rate.step();
  EXPECT_EQ(a.value().item<float>(), alone.value().item<float>());
  EXPECT_EQ(a.value().item<float>(), 1 - 0.25f * 0.125f);
  EXPECT_EQ(b.value().item<float>(), 1 - 0.5f * 0.25f);
  EXPECT_EQ(c.value().item<float>(), 1);
}

TEST(Groups, faults_are_named) {
  const auto make = [](double lr_factor, bool decay, std::optional<double> weight_decay) {
    AdamW({{{parameter("p")}, decay, lr_factor, weight_decay}});
  };
  EXPECT_ERROR(make(-1, true, {}), "lr_factor -1 must be finite");
  EXPECT_ERROR(make(kNaN, true, {}), "lr_factor nan must be finite");
  EXPECT_ERROR(make(1, true, -0.5), "weight_decay -0.5 must be finite");
  EXPECT_ERROR(make(1, false, 0.5), "a group without decay has a weight_decay of 0.5");
}

TEST(Groups, a_checkpoint_of_other_groups_is_not_loaded) {
  Var p = parameter("p"), q = parameter("q");
  AdamW plain({{{p, q}}}), grouped({{{p}}, {.params = {q}, .lr_factor = 0.5}}),
      other({{{p}}, {.params = {q}, .lr_factor = 0.25}}), usual({{{q}, true, 1, 1e-2}, {{p}}});
  EXPECT_ERROR(plain.load({}, grouped.metadata()), "\"group.q\" is lr_factor=0.5,weight_decay=0.01");
  EXPECT_ERROR(grouped.load({}, plain.metadata()), "no \"group.q\"");
  EXPECT_ERROR(grouped.load({}, other.metadata()), "group.q is lr_factor=0.25");
  usual.load({}, plain.metadata());  // the same settings, said otherwise
  grouped.load({}, grouped.metadata());
}

}  // namespace
}  // namespace tare::optim
