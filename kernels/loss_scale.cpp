// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/loss_scale.h"

#include <cmath>

#include "tare/kernels/optimizer_check.h"

namespace tare::kernels {
namespace {

void check_scaler(const char* op, const Tensor& scaler, Device device) {
  check_same_shape(op, "scaler", scaler, {int64_t(sizeof(StepState))});
  check_same_dtype(op, "scaler", scaler, DType::u8);
  check_same_device(op, "scaler", scaler, device);
}

constexpr Cost kCost{4, 2 * sizeof(StepState)};

}  // namespace

void take_loss_scale(const Tensor& scaler, Tensor& state) {
  check_scaler("take_loss_scale", scaler, state.device());
  check_scaler("take_loss_scale", state, state.device());
  TARE_DISPATCH_CPU(state.device(), kCost, take_loss_scale(scaler, state));
}

void report_found_inf(const Tensor& state, Tensor& scaler) {
  check_scaler("report_found_inf", state, state.device());
  check_scaler("report_found_inf", scaler, state.device());
  TARE_DISPATCH_CPU(state.device(), kCost, report_found_inf(state, scaler));
}

void read_loss_scale(const Tensor& scaler, Tensor& scale) {
  check_scaler("read_loss_scale", scaler, scale.device());
  check_same_shape("read_loss_scale", "scale", scale, {});
  TARE_DISPATCH_CPU(scale.device(), kCost, read_loss_scale(scaler, scale));
}

void update_loss_scale(const LossScaleArgs& args, Tensor& scaler) {
  const char* op = "update_loss_scale";
  check_scaler(op, scaler, scaler.device());
  TARE_CHECK(std::isfinite(args.growth_factor) && args.growth_factor > 1, op, ": growth_factor ",
             args.growth_factor, " must be finite and above 1");
  TARE_CHECK(args.backoff_factor > 0 && args.backoff_factor < 1, op, ": backoff_factor ", args.backoff_factor,
             " must lie between 0 and 1");
  TARE_CHECK(args.growth_interval > 0, op, ": growth_interval ", args.growth_interval, " must be positive");
  TARE_DISPATCH_CPU(scaler.device(), kCost, update_loss_scale(args, scaler));
}

void unscale_gradients(const TensorTable& table, Tensor& scaler) {
  check_scaler("unscale_gradients", scaler, table.device());
  check_pointers("unscale_gradients", table, 0);
  const DType grad = table.grad_dtype();
  TARE_CHECK(grad == DType::f32 || grad == DType::f64, "unscale_gradients: gradients are ", grad,
             ", in which what is divided by the scale is lost; expected f32 or f64");
  const double n = double(table.numel());
  TARE_DISPATCH_CPU(table.device(), (Cost{2 * n, 2 * n * double(size_of(grad))}),
                    unscale_gradients(table, scaler));
}

}  // namespace tare::kernels
