// SPDX-License-Identifier: Apache-2.0
// A hundred updates with a changing rate, parameter groups, and clipping, against PyTorch and transformers.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tare/core/json.h"
#include "tare/core/safetensors.h"
#include "tare/optim/adafactor.h"
#include "tare/optim/adamw.h"
#include "tare/optim/sgd.h"

#include "tests/support/compare.h"

namespace tare::optim {
namespace {

using test::relative_l2;

std::string data_path(const std::string& name) {
  return std::string(TARE_SOURCE_DIR) + "/tests/golden/data/optim/" + name;
}

double number(const Json& options, std::string_view key, double fallback) {
  const Json* value = options.find(key);
  return value ? value->as_double() : fallback;
}

std::optional<bool> flag(const Json& options, std::string_view key) {
  const Json* value = options.find(key);
  return value ? std::optional(value->as_bool()) : std::nullopt;
}

// The option names of transformers, and torch's where they differ.
AdafactorOptions adafactor_options(const std::string& name, const Json& options) {
  AdafactorOptions o{.relative_step = flag(options, "relative_step"),
                     .warmup_init = flag(options, "warmup_init"),
                     .scale_parameter = flag(options, "scale_parameter"),
                     .clip_threshold = number(options, "clip_threshold", number(options, "d", 1)),
                     .decay_rate = number(options, "decay_rate", number(options, "beta2_decay", -0.8)),
                     .weight_decay = number(options, "weight_decay", 0)};
  if (!name.starts_with("adafactor_hf")) o.preset = AdafactorPreset::torch;
  if (name.ends_with("2d")) o.preset = AdafactorPreset::paper;
  if (!o.relative_step.value_or(false)) o.lr = 1e-3;  // until the schedule
  if (options.find("beta1")) o.beta1 = number(options, "beta1", 0);
  if (const Json* eps = options.find("eps")) {
    o.eps1 = eps->items()[0].as_double();
    if (o.scale_parameter.value_or(true)) o.eps2 = eps->items()[1].as_double();
  }
  return o;
}

std::unique_ptr<Optimizer> make(const std::string& name, const Json& options,
                                const std::vector<ParamGroup>& groups) {
  if (name.starts_with("adamw")) {
    const auto& betas = options.at("betas").items();
    return std::make_unique<AdamW>(groups,
                                   AdamWOptions{.beta1 = betas[0].as_double(),
                                                .beta2 = betas[1].as_double(),
                                                .eps = options.at("eps").as_double(),
                                                .weight_decay = options.at("weight_decay").as_double()});
  }
  if (name.starts_with("adafactor"))
    return std::make_unique<Adafactor>(groups, adafactor_options(name, options));
  return std::make_unique<Sgd>(groups, SgdOptions{.momentum = number(options, "momentum", 0),
                                                  .nesterov = options.find("nesterov") != nullptr,
                                                  .weight_decay = number(options, "weight_decay", 0)});
}

void set_gradient(Var& p, const Tensor& gradient) {
  p.zero_grad();
  backward(p, {.seed = gradient});
}

// One group for all, or one for each where the case says what it changes.
std::vector<ParamGroup> groups_of(const Json& test_case, const Vars& params) {
  const Json* changes = test_case.find("groups");
  if (!changes) return {{params}};
  std::vector<ParamGroup> groups;
  for (const Json& change : changes->items()) {
    ParamGroup group{.params = {params[groups.size()]}, .lr_factor = number(change, "lr_factor", 1)};
    if (const Json* decay = change.find("weight_decay")) group.weight_decay = decay->as_double();
    groups.push_back(group);
  }
  return groups;
}

// Runs one case and compares after each snapshot, and the states at the end.
void expect_torchs_values(const Json& test_case, DType dtype, double tolerance) {
  const std::string& name = test_case.at("case").as_string();
  const SafetensorsFile inputs(data_path("inputs.safetensors")), wanted(data_path(name + ".safetensors"));
  const std::vector<double> rates = inputs.tensor("lr").to_vector<double>();
  Vars params;
  std::vector<Tensor> grads;
  for (int i = 0; i < 3; ++i) {
    params.push_back(
        Var::parameter(inputs.tensor(detail::concat("p", i)).to(dtype).clone(), detail::concat("p", i)));
    grads.push_back(inputs.tensor(detail::concat("g", i)).to(dtype));
  }
  const auto optimizer = make(name, test_case.at("options"), groups_of(test_case, params));
  int compared = 0;
  const auto compare = [&](const std::string& key, const Tensor& got) {
    const double error =
        relative_l2(got.to_vector<double>(), wanted.tensor(key + ".f64").to_vector<double>());
    EXPECT_LE(error, tolerance) << name << " " << key << " in " << dtype;
    ++compared;
  };
  for (size_t k = 0; k < rates.size(); ++k) {
    if (!flag(test_case.at("options"), "relative_step").value_or(false))
      optimizer->set_schedule({.peak = rates[k]});
    for (size_t i = 0; i < params.size(); ++i)
      set_gradient(params[i], grads[i].select(0, int64_t(k)).contiguous());
    optimizer->step({.max_grad_norm = number(test_case, "max_norm", 0)});
    for (size_t i = 0; i < params.size(); ++i) {
      const std::string key = detail::concat("p", i, ".after", k + 1);
      if (wanted.contains(key + ".f64")) compare(key, params[i].value());
    }
  }
  for (const auto& [state, tensor] : optimizer->state())  // "p1.exp_avg" stands as "exp_avg1.after100"
    compare(detail::concat(state.substr(3), state[1], ".after100"), tensor);
  EXPECT_EQ(compared, 3 * 4 + int(optimizer->state().size())) << name;
}

TEST(GoldenOptim, a_hundred_updates_follow_torch) {
  const Json cases = Json::parse_file(data_path("cases.json"));
  EXPECT_EQ(cases.at("cases").items().size(), 18u);
  for (const Json& c : cases.at("cases").items()) {
    // The values are torch's in f64; in f32 torch itself is off by torch_f32_error.
    expect_torchs_values(c, DType::f32, std::max(1e-6, 3 * c.at("torch_f32_error").as_double()));
    expect_torchs_values(c, DType::f64, 1e-12);
  }
}

// SGD with rate 1 from 0 leaves minus the clipped gradient in the parameter.
TEST(GoldenOptim, clipping_follows_torch) {
  const Json cases = Json::parse_file(data_path("cases.json"));
  const SafetensorsFile file(data_path("clipping.safetensors"));
  for (const Json& c : cases.at("clipping").items()) {
    const std::string& name = c.at("case").as_string();
    Vars params;
    for (int i = 0; i < 3; ++i) {
      const Tensor g = file.tensor(detail::concat(name, ".g", i));
      params.push_back(Var::parameter(Tensor::zeros(g.shape()), detail::concat("p", i)));
      set_gradient(params.back(), g);
    }
    Sgd optimizer({{params, true}}, {.lr = 1});
    const double norm = optimizer.step({.max_grad_norm = c.at("max_norm").as_double()}).wait().grad_norm;
    const double want = file.tensor(name + ".norm.f64").item<double>();
    EXPECT_NEAR(norm, want, 1e-6 * want) << name;
    for (size_t i = 0; i < params.size(); ++i) {
      auto clipped = params[i].value().to_vector<double>();
      for (double& x : clipped) x = -x;
      const Tensor expected = file.tensor(detail::concat(name, ".clipped", i, ".f64"));
      EXPECT_LE(relative_l2(clipped, expected.to_vector<double>()), 1e-6) << name << " tensor " << i;
    }
  }
}

}  // namespace
}  // namespace tare::optim
