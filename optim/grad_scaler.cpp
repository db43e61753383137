// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/grad_scaler.h"

#include <cmath>
#include <limits>
#include <set>

#include "tare/core/scope.h"
#include "tare/kernels/step.h"

namespace tare::optim {
namespace {

void check_scale(const char* name, double scale) {
  TARE_CHECK(scale > 0 && scale <= double(std::numeric_limits<float>::max()), "GradScaler: ", name, " ",
             scale, " must be positive and finite in f32");
}

void check_options(const GradScalerOptions& o) {
  check_scale("init_scale", o.init_scale);
  TARE_CHECK(std::isfinite(o.growth_factor) && o.growth_factor > 1, "GradScaler: growth_factor ",
             o.growth_factor, " must be finite and above 1");
  TARE_CHECK(o.backoff_factor > 0 && o.backoff_factor < 1, "GradScaler: backoff_factor ", o.backoff_factor,
             " must lie between 0 and 1");
  TARE_CHECK(o.growth_interval > 0, "GradScaler: growth_interval ", o.growth_interval, " must be positive");
}

StepState scaled_by(double scale, int32_t growth_tracker) {
  StepState state;
  state.loss_scale = float(scale);
  state.growth_tracker = growth_tracker;
  return state;
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options, Device device) : options_(options) {
  check_options(options);
  const OpScope op("grad_scaler");
  if (options.enabled) state_ = kernels::make_step_state(device, scaled_by(options.init_scale, 0));
}

Tensor GradScaler::seed(const Var& loss) const {
  if (!options_.enabled) return {};
  const OpScope op("grad_scaler");
  TARE_CHECK(loss.dtype() == DType::f32 || loss.dtype() == DType::f64, "GradScaler::seed: the loss is ",
             loss.dtype(), ", expected f32 or f64");
  TARE_CHECK(loss.device() == state_.device(), "GradScaler::seed: the loss is on ", loss.device(),
             ", the scaler on ", state_.device());
  Tensor factor = Tensor::empty({}, {loss.dtype(), loss.device(), Category::temporaries});
  kernels::read_loss_scale(state_, factor);
  return factor.expand(loss.shape()).contiguous();
}

void GradScaler::unscale_(Optimizer& optimizer) {
  if (!options_.enabled) return;
  if (const auto it = stages_.find(&optimizer); it != stages_.end())
    TARE_THROW("GradScaler::unscale_: ", optimizer.name(),
               it->second == Stage::unscaled ? " is unscaled already since the last update()"
                                             : " has made its step already since the last update()");
  optimizer.unscale_gradients(state_);
  stages_[&optimizer] = Stage::unscaled;
}

StepHandle GradScaler::step(Optimizer& optimizer, double max_grad_norm) {
  if (!options_.enabled) return optimizer.step({.max_grad_norm = max_grad_norm});
  const auto it = stages_.find(&optimizer);
  const bool unscaled = it != stages_.end() && it->second == Stage::unscaled;
  TARE_CHECK(it == stages_.end() || unscaled, "GradScaler::step: ", optimizer.name(),
             " has made its step already since the last update()");
  StepHandle handle = optimizer.step({.max_grad_norm = max_grad_norm,
                                      .nonfinite = NonFinitePolicy::skip,
                                      .scaler = state_,
                                      .is_unscaled = unscaled});
  stages_[&optimizer] = Stage::stepped;
  return handle;
}

void GradScaler::update(std::optional<double> next_scale) {
  if (!options_.enabled) return;
  if (next_scale) {
    check_scale("next_scale", *next_scale);
    const int32_t tracker = get_growth_tracker();
    kernels::write_step_state(state_, scaled_by(*next_scale, tracker));
  } else {
    TARE_CHECK(!stages_.empty(),
               "GradScaler::update: neither step() nor unscale_() was called since the last one");
    kernels::update_loss_scale({options_.growth_factor, options_.backoff_factor, options_.growth_interval},
                               state_);
  }
  stages_.clear();
}

double GradScaler::get_scale() const {
  return options_.enabled ? double(kernels::read_step_state(state_).loss_scale) : 1;
}

int32_t GradScaler::get_growth_tracker() const {
  return options_.enabled ? kernels::read_step_state(state_).growth_tracker : 0;
}

std::map<std::string, double> GradScaler::state_dict() const {
  if (!options_.enabled) return {};
  return {{"scale", get_scale()},
          {"growth_factor", options_.growth_factor},
          {"backoff_factor", options_.backoff_factor},
          {"growth_interval", double(options_.growth_interval)},
          {"_growth_tracker", double(get_growth_tracker())}};
}

void GradScaler::load_state_dict(const std::map<std::string, double>& state) {
  if (!options_.enabled) return;
  TARE_CHECK(!state.empty(),
             "GradScaler::load_state_dict: the state is empty, as that of a scaler that was not "
             "enabled");
  const auto known = state_dict();
  for (const auto& [name, value] : state)
    TARE_CHECK(known.contains(name), "GradScaler::load_state_dict: \"", name, "\" is unknown");
  const auto field = [&](const char* name) {
    const auto it = state.find(name);
    TARE_CHECK(it != state.end(), "GradScaler::load_state_dict: \"", name, "\" is missing");
    return it->second;
  };
  const auto count = [&](const char* name) {
    const double value = field(name);
    TARE_CHECK(value >= 0 && value <= std::numeric_limits<int32_t>::max() && value == std::floor(value),
               "GradScaler::load_state_dict: ", name, " is ", value, ", expected a count");
    return int32_t(value);
  };
  GradScalerOptions o = options_;
  o.init_scale = field("scale");
  o.growth_factor = field("growth_factor");
  o.backoff_factor = field("backoff_factor");
  o.growth_interval = count("growth_interval");
  const int32_t tracker = count("_growth_tracker");
  check_options(o);
  kernels::write_step_state(state_, scaled_by(o.init_scale, tracker));
  o.init_scale = options_.init_scale;
  options_ = o;
  stages_.clear();
}

}  // namespace tare::optim
