// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/step_handle.h"

#include <iostream>

#include "tare/kernels/step.h"

namespace tare::optim {

StepInFlight::StepInFlight(Tensor step_state, std::vector<std::string> names, NonFinitePolicy policy)
    : step_state_(std::move(step_state)), names_(std::move(names)), policy_(policy) {}

StepInFlight::~StepInFlight() {
  if (is_settled()) return;
  try {
    wait();
  } catch (const std::exception& e) {
    std::cerr << "tare: " << e.what() << std::endl;
  }
}

const StepReport& StepInFlight::wait() {
  if (!report_) {
    const StepState s = kernels::read_step_state(step_state_);
    report_ =
        StepReport{s.found_inf == 0, s.update, s.grad_norm, s.learning_rate, s.loss_scale, "", s.nonfinite};
    if (!report_->stepped) report_->nonfinite = names_.at(size_t(s.first_nonfinite));
  }
  if (!report_->stepped && policy_ == NonFinitePolicy::error)
    throw NonFiniteGradient(detail::concat(
        "step: the gradient of ", report_->nonfinite, " is not finite; nothing was changed, update ",
        report_->update + 1, " is still to be made; ", report_->nonfinite_elements,
        " elements of all gradients are not finite"));
  return *report_;
}

}  // namespace tare::optim
