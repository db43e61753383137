// SPDX-License-Identifier: Apache-2.0
// Loss scaling on the device (Micikevicius et al., "Mixed precision training", 2018, section 3.2): the scale
// lives in a StepState of the scaler, to which each optimizer's own is joined for a step.
#pragma once

#include <cstdint>

#include "tare/core/tensor.h"
#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

struct LossScaleArgs {
  double growth_factor = 2, backoff_factor = 0.5;
  int32_t growth_interval = 2000;  // finite steps in a row until the scale grows
};

// `state`'s loss_scale becomes that of `scaler`.
void take_loss_scale(const Tensor& scaler, Tensor& state);
// `scaler`'s found_inf is set where that of `state` is.
void report_found_inf(const Tensor& state, Tensor& scaler);
// loss_scale to `scale`, an f32 or f64 scalar.
void read_loss_scale(const Tensor& scaler, Tensor& scale);
// After a step: with found_inf the scale times backoff_factor, and the tracker begins anew; else the tracker
// rises, and at growth_interval the scale is times growth_factor, unless that is infinite in f32. Forgets
// found_inf. As torch's.
void update_loss_scale(const LossScaleArgs& args, Tensor& scaler);
// Divides all gradients of the table by scaler's loss_scale, in place, and sets its found_inf where one is
// not finite. Gradients are f32 or f64.
void unscale_gradients(const TensorTable& table, Tensor& scaler);

TARE_DECLARE_TWINS(take_loss_scale, const Tensor& scaler, Tensor& state)
TARE_DECLARE_TWINS(report_found_inf, const Tensor& state, Tensor& scaler)
TARE_DECLARE_TWINS(read_loss_scale, const Tensor& scaler, Tensor& scale)
TARE_DECLARE_TWINS(update_loss_scale, const LossScaleArgs& args, Tensor& scaler)
TARE_DECLARE_TWINS(unscale_gradients, const TensorTable& table, Tensor& scaler)

}  // namespace tare::kernels
