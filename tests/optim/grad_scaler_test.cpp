// SPDX-License-Identifier: Apache-2.0
// Loss scaling: torch's sequences of scales, skipped steps that leave no trace, the order of the calls.
#include "tare/optim/grad_scaler.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tare/autograd/ops.h"
#include "tare/core/json.h"
#include "tare/core/safetensors.h"
#include "tare/optim/factory.h"
#include "tare/optim/sgd.h"

#include "tests/support/compare.h"
#include "tests/support/expect_error.h"

namespace tare::optim {
namespace {

using test::same_bits;

constexpr double kInf = std::numeric_limits<double>::infinity();

void backward_scaled(const GradScaler& scaler, const Var& loss) {
  backward(loss, {.seed = scaler.seed(loss)});
}

GradScalerOptions options_of(const Json& json) {
  GradScalerOptions o;
  const auto number = [&](const char* key, double otherwise) {
    return json.find(key) ? json.at(key).as_double() : otherwise;
  };
  o.init_scale = number("init_scale", o.init_scale);
  o.growth_factor = number("growth_factor", o.growth_factor);
  o.backoff_factor = number("backoff_factor", o.backoff_factor);
  o.growth_interval = int32_t(number("growth_interval", o.growth_interval));
  return o;
}

TEST(GradScaler, has_torchs_scale_tracker_and_steps_through_five_thousand_updates) {
  const std::string folder = std::string(TARE_SOURCE_DIR) + "/tests/golden/data/optim/";
  const SafetensorsFile want(folder + "grad_scaler.safetensors");
  const Json sequences = Json::parse_file(folder + "grad_scaler.json");
  size_t steps = 0;
  for (const std::string name : {"defaults", "short_interval", "to_infinity"}) {
    const auto values = [&](const char* key) { return want.tensor(name + "." + key).to_vector<double>(); };
    const auto gradient = values("gradient"), unscaled = values("unscaled"), scale = values("scale"),
               tracker = values("tracker"), parameter = values("parameter");
    Var p = Var::parameter(Tensor::full({1}, 1), "p");
    Sgd optimizer({{{p}}}, {.lr = 1e-3});
    GradScaler scaler(options_of(sequences.at(name)));
    for (size_t k = 0; k < gradient.size(); ++k, ++steps) {
      backward_scaled(scaler, p * gradient[k]);
      if (unscaled[k] != 0) scaler.unscale_(optimizer);
      const bool stepped = scaler.step(optimizer).wait().stepped;
      scaler.update();
      optimizer.zero_grad();
      ASSERT_EQ(stepped, std::isfinite(gradient[k])) << name << " " << k;
      ASSERT_EQ(scaler.get_scale(), scale[k]) << name << " " << k;
      ASSERT_EQ(scaler.get_growth_tracker(), tracker[k]) << name << " " << k;
      ASSERT_NEAR(p.value().item<double>(), parameter[k], 1e-6 + 1e-6 * std::fabs(parameter[k])) << name << k;
    }
  }
  EXPECT_EQ(steps, 10'020u);
}

const char* const kOptimizers[] = {"sgd:momentum=0.9",          "adamw",
                                   "adamw8bit:min_8bit_size=0", "adafactor",
                                   "adafactor:preset=torch",    "adafactor:beta1=0.9,lr=1e-3"};

// Parameters with an optimizer; gradients are those of a step.
struct Training {
  Vars params;
  std::unique_ptr<Optimizer> optimizer;

  explicit Training(const char* text) {
    for (const Shape& shape : {Shape{7, 9}, Shape{40}})
      params.push_back(
          Var::parameter(Tensor::randn(shape, params.size()), detail::concat("p", params.size())));
    optimizer = make_optimizer(text, {{params}});
    optimizer->set_schedule({.shape = ScheduleShape::linear, .total = 100});
  }
  Var loss(int step) const {
    Var sum;
    for (const Var& p : params) {
      const Var term = tare::sum(p * Var(Tensor::randn(p.shape(), uint64_t(100 + step) + params.size())));
      sum = sum.defined() ? sum + term : term;
    }
    return sum;
  }
  void plant(double value) {
    Tensor g = params[1].grad();
    g.mutable_data<float>()[3] = float(value);
  }
};

void expect_same(const Training& a, const Training& b, const std::string& what) {
  for (size_t i = 0; i < a.params.size(); ++i)
    EXPECT_TRUE(same_bits(a.params[i].value(), b.params[i].value())) << what << " parameter " << i;
  const NamedTensors x = a.optimizer->state(), y = b.optimizer->state();
  ASSERT_EQ(x.size(), y.size());
  for (size_t k = 0; k < x.size(); ++k)
    EXPECT_TRUE(same_bits(x[k].second, y[k].second)) << what << x[k].first;
  EXPECT_EQ(a.optimizer->metadata(), b.optimizer->metadata()) << what;
}

TEST(GradScaler, a_scale_of_a_power_of_two_leaves_no_trace_in_any_optimizer) {
  for (const char* text : kOptimizers) {
    Training plain(text), scaled(text), unscaled(text);
    GradScaler scaler, other({.init_scale = 1024});
    for (int step = 0; step < 4; ++step) {
      const double max_norm = step % 2 == 0 ? 1 : 0;
      backward(plain.loss(step));
      const StepReport want = plain.optimizer->step({.max_grad_norm = max_norm}).wait();
      backward_scaled(scaler, scaled.loss(step));
      const StepReport got = scaler.step(*scaled.optimizer, max_norm).wait();
      backward_scaled(other, unscaled.loss(step));
      other.unscale_(*unscaled.optimizer);
      EXPECT_TRUE(same_bits(unscaled.params[0].grad(), plain.params[0].grad())) << text;
      other.step(*unscaled.optimizer, max_norm);
      EXPECT_EQ(got.grad_norm, want.grad_norm) << text;
      EXPECT_EQ(got.loss_scale, 65536) << text;
      EXPECT_EQ(want.loss_scale, 1) << text;
      for (GradScaler* s : {&scaler, &other}) s->update();
      for (Training* t : {&plain, &scaled, &unscaled}) t->optimizer->zero_grad();
      expect_same(plain, scaled, text);
      expect_same(plain, unscaled, text);
    }
  }
}

TEST(GradScaler, a_skipped_step_moves_the_scale_and_nothing_else) {
  for (const char* text : kOptimizers) {
    Training skipped(text), plain(text);
    GradScaler scaler, reference;
    for (int step = 0; step < 3; ++step) {
      if (step == 1)
        for (const double bad : {kInf, -kInf, std::nan("")}) {
          backward_scaled(scaler, skipped.loss(7));
          skipped.plant(bad);
          const StepReport report = scaler.step(*skipped.optimizer, 1).wait();
          EXPECT_FALSE(report.stepped);
          EXPECT_EQ(report.nonfinite, "p1");
          scaler.update();
          skipped.optimizer->zero_grad();
          expect_same(skipped, plain, text);
        }
      backward_scaled(scaler, skipped.loss(step));
      scaler.step(*skipped.optimizer, 1);
      scaler.update();
      skipped.optimizer->zero_grad();
      backward_scaled(reference, plain.loss(step));
      reference.step(*plain.optimizer, 1);
      reference.update();
      plain.optimizer->zero_grad();
      expect_same(skipped, plain, text);
    }
    EXPECT_EQ(scaler.get_scale(), 8192);
    EXPECT_EQ(scaler.get_growth_tracker(), 2);
    EXPECT_EQ(reference.get_growth_tracker(), 3);
  }
}

TEST(GradScaler, one_scale_serves_several_optimizers_of_which_one_may_be_skipped) {
  Var a = Var::parameter(Tensor::full({1}, 1), "a"), b = Var::parameter(Tensor::full({1}, 1), "b");
  Sgd first({{{a}}}, {.lr = 1}), second({{{b}}}, {.lr = 1});
  GradScaler scaler({.init_scale = 8});
  backward_scaled(scaler, a * 0.5 + b * kInf);
  EXPECT_FALSE(scaler.step(second).wait().stepped);
  EXPECT_TRUE(scaler.step(first).wait().stepped);
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 4);
  EXPECT_EQ(a.value().item<float>(), 0.5f);
  EXPECT_EQ(b.value().item<float>(), 1);
}

TEST(GradScaler, unscaling_finds_what_is_not_finite_anywhere) {
  Vars params;
  for (const int64_t n : {3, 50'000, 1}) {
    params.push_back(Var::parameter(Tensor::zeros({n}), detail::concat("p", n)));
    backward(params.back(), {.seed = Tensor::full({n}, 8)});
  }
  Sgd optimizer({{params}}, {.lr = 1});
  for (const int64_t at : {0, 1, 15, 16'383, 16'384, 33'333, 49'999})
    for (const double bad : {kInf, -kInf, std::nan("")}) {
      GradScaler scaler({.init_scale = 2});
      Tensor g = params[1].grad();
      fill(g, 8);
      g.mutable_data<float>()[at] = float(bad);
      scaler.unscale_(optimizer);
      EXPECT_EQ(g.data<float>()[at == 0 ? 49'999 : at - 1], 4) << at;
      scaler.update();
      EXPECT_EQ(scaler.get_scale(), 1) << at << " " << bad;
    }
}

TEST(GradScaler, the_order_of_the_calls_is_torchs) {
  Var p = Var::parameter(Tensor::full({1}, 1), "p");
  Sgd optimizer({{{p}}}, {.lr = 1});
  GradScaler scaler;
  EXPECT_ERROR(scaler.update(), "neither step() nor unscale_() was called");
  EXPECT_ERROR(scaler.unscale_(optimizer), "no parameter has a gradient");
  EXPECT_ERROR(scaler.step(optimizer), "no parameter has a gradient");
  backward_scaled(scaler, p * 0.25);
  scaler.unscale_(optimizer);
  EXPECT_EQ(p.grad().item<float>(), 0.25f);
  EXPECT_ERROR(scaler.unscale_(optimizer), "sgd is unscaled already since the last update()");
  EXPECT_EQ(p.grad().item<float>(), 0.25f);
  scaler.step(optimizer);
  EXPECT_ERROR(scaler.step(optimizer), "sgd has made its step already since the last update()");
  EXPECT_ERROR(scaler.unscale_(optimizer), "sgd has made its step already since the last update()");
  EXPECT_EQ(p.value().item<float>(), 0.75f);
  scaler.update();
  EXPECT_ERROR(scaler.update(), "neither step() nor unscale_() was called");
  // What unscale_() found counts without a step.
  optimizer.zero_grad();
  backward_scaled(scaler, p * kInf);
  scaler.unscale_(optimizer);
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 32768);
  scaler.update(16);
  EXPECT_EQ(scaler.get_scale(), 16);
  EXPECT_ERROR(scaler.update(0), "next_scale 0 must be positive");
}

TEST(GradScaler, what_is_not_enabled_does_what_no_scaler_would) {
  Var p = Var::parameter(Tensor::full({1}, 1), "p");
  Sgd optimizer({{{p}}}, {.lr = 1});
  GradScaler scaler({.enabled = false});
  backward_scaled(scaler, p * 0.25);
  EXPECT_EQ(p.grad().item<float>(), 0.25f);
  scaler.unscale_(optimizer);
  scaler.step(optimizer);
  scaler.update();
  EXPECT_EQ(p.value().item<float>(), 0.75f);
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_TRUE(scaler.state_dict().empty());
  optimizer.zero_grad();
  backward(p * kInf);
  EXPECT_ERROR(scaler.step(optimizer).wait(), "the gradient of p is not finite");
}

TEST(GradScaler, its_state_is_saved_and_loaded_whole) {
  Var p = Var::parameter(Tensor::full({1}, 1), "p");
  Sgd optimizer({{{p}}}, {.lr = 1});
  GradScaler from({.init_scale = 32, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 3}), to;
  for (int step = 0; step < 2; ++step) {
    backward_scaled(from, p * 0.1);
    from.step(optimizer);
    from.update();
    optimizer.zero_grad();
  }
  auto state = from.state_dict();
  EXPECT_EQ(state.at("_growth_tracker"), 2);
  to.load_state_dict(state);
  EXPECT_EQ(to.state_dict(), state);
  backward_scaled(to, p * 0.1);
  to.step(optimizer);
  to.update();
  EXPECT_EQ(to.get_scale(), 128);
  EXPECT_EQ(to.get_growth_tracker(), 0);

  EXPECT_ERROR(to.load_state_dict({}), "the state is empty");
  state["more"] = 1;
  EXPECT_ERROR(to.load_state_dict(state), "\"more\" is unknown");
  state.erase("more");
  state["_growth_tracker"] = 1.5;
  EXPECT_ERROR(to.load_state_dict(state), "_growth_tracker is 1.5, expected a count");
  state.erase("_growth_tracker");
  EXPECT_ERROR(to.load_state_dict(state), "\"_growth_tracker\" is missing");
  state["_growth_tracker"] = 1;
  state["scale"] = kInf;
  EXPECT_ERROR(to.load_state_dict(state), "must be positive and finite in f32");
  EXPECT_EQ(to.get_scale(), 128);
}

TEST(GradScaler, options_out_of_range_are_named) {
  EXPECT_ERROR(GradScaler({.init_scale = 0}), "init_scale 0");
  EXPECT_ERROR(GradScaler({.init_scale = 1e39}), "finite in f32");
  EXPECT_ERROR(GradScaler({.growth_factor = 1}), "growth_factor 1 must be finite and above 1");
  EXPECT_ERROR(GradScaler({.backoff_factor = 1}), "backoff_factor 1 must lie between 0 and 1");
  EXPECT_ERROR(GradScaler({.growth_interval = 0}), "growth_interval 0 must be positive");
  const GradScaler scaler;
  EXPECT_ERROR(scaler.seed(Tensor::full({1}, 1, {DType::bf16, kCpu, {}})), "the loss is bf16");
  EXPECT_ERROR(scaler.seed(Tensor::empty({1}, {DType::f32, kMeta, {}})), "the loss is on meta");
}

}  // namespace
}  // namespace tare::optim
