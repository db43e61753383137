// SPDX-License-Identifier: Apache-2.0
// Adafactor's states and options. Its values are in golden_test.cpp.
#include "tare/optim/adafactor.h"

#include <gtest/gtest.h>

#include "tare/optim/factory.h"

#include "tests/support/expect_error.h"

namespace tare::optim {
namespace {

std::vector<ParamGroup> group_of(const Shape& shape, DType dtype = DType::f32) {
  return {{{Var::parameter(Tensor::full(shape, 1, {dtype, kCpu, {}}), "p")}}};
}

std::string states_of(const char* text, const Shape& shape) {
  const auto groups = group_of(shape);
  backward(groups[0].params[0], {.seed = Tensor::full(shape, 1)});
  const auto optimizer = make_optimizer(text, groups);
  optimizer->step();
  std::string list;
  for (const auto& [name, state] : optimizer->state()) list += name.substr(2) + state.shape().str() + " ";
  return list;
}

TEST(Adafactor, has_the_states_of_its_factors) {
  EXPECT_EQ(states_of("adafactor", {}), "exp_avg_sq() ");
  EXPECT_EQ(states_of("adafactor", {7}), "exp_avg_sq(7) ");
  EXPECT_EQ(states_of("adafactor", {5, 9}), "exp_avg_sq_row(5) exp_avg_sq_col(9) ");
  EXPECT_EQ(states_of("adafactor", {2, 5, 9}), "exp_avg_sq_row(2, 5) exp_avg_sq_col(2, 9) ");
  EXPECT_EQ(states_of("adafactor", {2, 3, 4, 5}), "exp_avg_sq_row(2, 3, 4) exp_avg_sq_col(2, 3, 5) ");
  EXPECT_EQ(states_of("adafactor", {2, 0, 5}), "exp_avg_sq_row(2, 0) exp_avg_sq_col(2, 5) ");
  EXPECT_EQ(states_of("adafactor:factor=2d", {5, 9}), "exp_avg_sq_row(5) exp_avg_sq_col(9) ");
  EXPECT_EQ(states_of("adafactor:factor=2d", {2, 5, 9}), "exp_avg_sq_row(10) exp_avg_sq_col(9) ");
  EXPECT_EQ(states_of("adafactor:factor=2d", {2, 3, 4, 5}), "exp_avg_sq_row(2) exp_avg_sq_col(60) ");
  EXPECT_EQ(states_of("adafactor:preset=paper", {2, 3, 4, 5}), "exp_avg_sq_row(2) exp_avg_sq_col(60) ");
  EXPECT_EQ(states_of("adafactor:beta1=0.9", {7}), "exp_avg_sq(7) exp_avg(7) ");
  EXPECT_EQ(states_of("adafactor:beta1=0.9", {2, 3}), "exp_avg_sq_row(2) exp_avg_sq_col(3) exp_avg(2, 3) ");
}

TEST(Adafactor, a_learning_rate_takes_the_place_of_the_relative_step) {
  const auto settings = [](const char* text) { return make_trial_optimizer(text)->settings(); };
  const auto has = [&](const char* text, const char* part) {
    return settings(text).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("adafactor", "relative_step=true"));
  EXPECT_TRUE(has("adafactor:lr=1e-2,preset=hf", "relative_step=false"));
  EXPECT_EQ(make_trial_optimizer("adafactor")->learning_rate(), 1);
  EXPECT_EQ(make_trial_optimizer("adafactor:lr=0.02")->learning_rate(), 0.02);
  EXPECT_EQ(make_trial_optimizer("adafactor:preset=torch")->learning_rate(), 0.01);
}

// One step of a gradient at which the estimated variance is bounded by eps1^2: u = g / eps1.
TEST(Adafactor, the_preset_torch_has_the_epsilon_of_the_parameters_dtype) {
  for (const auto& [dtype, epsilon] : {std::pair{DType::f32, 0x1p-23}, {DType::f64, 0x1p-52}}) {
    auto groups = group_of({1}, dtype);
    backward(groups[0].params[0], {.seed = Tensor::full({1}, epsilon / 4, {dtype, kCpu, {}})});
    make_optimizer("adafactor:preset=torch,lr=0.5", {{{}}, groups[0]})->step();
    EXPECT_NEAR(groups[0].params[0].value().item<double>(), 1 - 0.5 / 4, 1e-6) << dtype;
  }
}

TEST(Adafactor, what_cannot_be_is_an_error_that_says_what_to_do) {
  const auto make = [](const std::string& options) { make_trial_optimizer("adafactor:" + options); };
  EXPECT_ERROR(make("lr=1e-2,relative_step=true"),
               "lr=0.01 and relative_step=true exclude each other: a relative step has no learning rate");
  EXPECT_ERROR(make("relative_step=false"), "relative_step=false needs a learning rate; add lr=1e-3");
  EXPECT_ERROR(make("lr=1e-2,warmup_init=true"), "leave out lr, or use a schedule with warm-up");
  EXPECT_ERROR(make("preset=torch,relative_step=true"), "torch's has no relative_step");
  EXPECT_ERROR(make("preset=torch,warmup_init=true"), "torch's has no warmup_init");
  EXPECT_ERROR(make("preset=torch,scale_parameter=false"), "torch's has no scale_parameter=false");
  EXPECT_ERROR(make("preset=torch,beta1=0.9"), "torch's has no beta1; leave it out, or take preset=hf");
  EXPECT_ERROR(make("preset=t5"), "unknown preset of adafactor \"t5\": expected hf, torch or paper");
  EXPECT_ERROR(make("factor=3d"), "factor \"3d\": expected last or 2d");
  EXPECT_ERROR(make("beta1=1"), "beta1 1 must lie in [0, 1)");
  EXPECT_ERROR(make("eps1=0"), "eps1 0 must be a normal f32");
  EXPECT_ERROR(make("eps1=1e-40"), "must be a normal f32");
  EXPECT_ERROR(make("eps2=-1"), "eps2 -1 must be finite and not negative");
  EXPECT_ERROR(make("lr=1e-3,scale_parameter=false,eps2=0.5"),
               "eps2 does nothing with scale_parameter=false");
  EXPECT_ERROR(make("clip_threshold=0"), "clip_threshold 0 must be positive");
  EXPECT_ERROR(make("decay_rate=0.8"), "decay_rate 0.8 must be finite and not positive");
  EXPECT_ERROR(make("lr=-1"), "learning rate -1");
  EXPECT_ERROR(make("weight_decay=-1"), "weight_decay -1");
}

TEST(Adafactor, a_state_of_another_kind_is_an_error_that_names_both) {
  const auto groups = group_of({4, 6});
  backward(groups[0].params[0], {.seed = Tensor::full({4, 6}, 1)});
  const auto from = make_optimizer("adafactor", groups);
  from->step();
  const auto load = [&](const char* text) {
    make_optimizer(text, groups)->load(from->state(), from->metadata());
  };
  load("adafactor");
  EXPECT_ERROR(load("adafactor:factor=2d"), "factor is last, this run has 2d");
  EXPECT_ERROR(load("adafactor:preset=torch"), "preset is hf, this run has torch");
  EXPECT_ERROR(load("adamw"), "optimizer is adafactor, this run has adamw");
}

}  // namespace
}  // namespace tare::optim
