// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/step.h"

#include <algorithm>
#include <cmath>

namespace tare::kernels::cpu {
namespace {

StepState& state_of(Tensor& state) { return *static_cast<StepState*>(state.mutable_raw()); }

}  // namespace

void begin_step(const LrSchedule& schedule, Tensor& state) {
  StepState& s = state_of(state);
  s.learning_rate = learning_rate_at(schedule, s.update);
  s.grad_norm_sq = 0;
  s.grad_norm = 0;
  s.clip_coefficient = 1;
  s.loss_scale = 1;
  s.found_inf = 0;
  s.first_nonfinite = -1;
  s.nonfinite = 0;
}

void finish_grad_norm(double max_norm, Tensor& state) {
  StepState& s = state_of(state);
  s.grad_norm = std::sqrt(s.grad_norm_sq);
  s.clip_coefficient = max_norm > 0 ? std::min(1.0, max_norm / (s.grad_norm + 1e-6)) : 1;
}

void count_update(const TensorTable& table, const Tensor& state) {
  if (static_cast<const StepState*>(state.raw())->found_inf != 0) return;
  for (const TensorEntry& e : table.host()) ++*e.updates;
}

void end_step(Tensor& state) {
  StepState& s = state_of(state);
  if (s.found_inf == 0) ++s.update;
}

}  // namespace tare::kernels::cpu
