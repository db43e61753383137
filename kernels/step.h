// SPDX-License-Identifier: Apache-2.0
// What frames an update on the device: the learning rate before it, the norm's consequences, the count after
// it. `state` is a StepState in a (sizeof(StepState)) u8 tensor.
#pragma once

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/lr_schedule.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

// A StepState on `device`, charged to workspace.
Tensor make_step_state(Device device, const StepState& initial = {});
StepState read_step_state(const Tensor& state);  // waits for the device
void write_step_state(Tensor& state, const StepState& value);

// Evaluates the schedule at the update index; forgets the norm, found_inf, first_nonfinite and loss_scale of
// the step before.
void begin_step(const LrSchedule& schedule, Tensor& state);
// grad_norm of the unscaled gradients from grad_norm_sq, and clip_coefficient = min(1, max_norm / (grad_norm
// + 1e-6)); max_norm 0 does not clip.
void finish_grad_norm(double max_norm, Tensor& state);
// Counts the update of each parameter of the table, and that of the run, unless found_inf says that it
// changed nothing.
void count_update(const TensorTable& table, const Tensor& state);
void end_step(Tensor& state);

TARE_DECLARE_TWINS(begin_step, const LrSchedule& schedule, Tensor& state)
TARE_DECLARE_TWINS(finish_grad_norm, double max_norm, Tensor& state)
TARE_DECLARE_TWINS(count_update, const TensorTable& table, const Tensor& state)
TARE_DECLARE_TWINS(end_step, Tensor& state)

}  // namespace tare::kernels
