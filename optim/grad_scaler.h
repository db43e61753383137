// SPDX-License-Identifier: Apache-2.0
// Loss scaling as torch.amp.GradScaler (Micikevicius et al., "Mixed precision training", 2018): gradients of
// f16 computations are kept from vanishing by a factor on the loss, which the update divides out again.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tare/autograd/var.h"
#include "tare/kernels/loss_scale.h"
#include "tare/optim/optimizer.h"

namespace tare::optim {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2, backoff_factor = 0.5;
  int32_t growth_interval = 2000;
  bool enabled = true;  // false: every call does what it would without a scaler
};

//   backward(loss, {.seed = scaler.seed(loss)});
//   scaler.step(optimizer, {.max_grad_norm = 1});
//   scaler.update();
//   optimizer.zero_grad();
//
// Scale, growth tracker and found_inf stay on the device, where the optimizers' kernels read them: none of
// these calls waits for it. Gradients are unscaled within the update, without a pass of their own. A step
// with a gradient that is not finite is skipped whole: no parameter, state, count or schedule changes.
class GradScaler {
 public:
  // Error that names an option out of range: init_scale and growth_interval positive, growth_factor above 1,
  // backoff_factor between 0 and 1.
  explicit GradScaler(const GradScalerOptions& options = {}, Device device = kCpu);

  // The scale in the loss's dtype (f32 or f64) and shape, for backward: the same gradients as of torch's
  // scale(loss), and the loss itself stays what it is. Undefined when not enabled.
  Tensor seed(const Var& loss) const;
  // Divides the optimizer's gradients by the scale at once, for who reads or changes them before step().
  // Error when they are divided already since the last update(), after step(), or when none is there.
  void unscale_(Optimizer& optimizer);
  // The optimizer's step with the gradients divided by the scale, unless unscale_() did. Error on a second
  // one since the last update(). StepReport::stepped tells whether it was skipped.
  StepHandle step(Optimizer& optimizer, double max_grad_norm = 0);
  // After the steps of all optimizers: the scale backs off where a gradient of one of them was not finite,
  // else grows after growth_interval updates in a row. `next_scale` sets it instead. Error when neither
  // step() nor unscale_() was called since the last one.
  void update(std::optional<double> next_scale = std::nullopt);

  bool is_enabled() const { return options_.enabled; }
  const GradScalerOptions& options() const { return options_; }
  double get_scale() const;            // waits for the device; 1 when not enabled
  int32_t get_growth_tracker() const;  // likewise

  // With torch's names: scale, growth_factor, backoff_factor, growth_interval, _growth_tracker; empty when
  // not enabled. Call it between update() and the next backward.
  std::map<std::string, double> state_dict() const;
  // Error, before anything is changed, that names what is missing, unknown or out of range.
  void load_state_dict(const std::map<std::string, double>& state);

 private:
  enum class Stage : uint8_t { unscaled, stepped };

  GradScalerOptions options_;
  Tensor state_;                              // StepState; undefined when not enabled
  std::map<const Optimizer*, Stage> stages_;  // since the last update()
};

}  // namespace tare::optim
