// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/step.h"

#include <cstring>

#include "tare/kernels/optimizer_check.h"

namespace tare::kernels {
namespace {

void check_state(const char* op, const Tensor& state) {
  check_same_shape(op, "state", state, {int64_t(sizeof(StepState))});
  check_same_dtype(op, "state", state, DType::u8);
}

constexpr Cost kCost{10, sizeof(StepState)};

}  // namespace

Tensor make_step_state(Device device, const StepState& initial) {
  Tensor state = Tensor::empty({int64_t(sizeof(StepState))}, {DType::u8, device, Category::workspace});
  write_step_state(state, initial);
  return state;
}

StepState read_step_state(const Tensor& state) {
  check_state("read_step_state", state);
  StepState value;
  if (!state.device().is_meta()) std::memcpy(&value, state.to(kCpu).raw(), sizeof value);
  return value;
}

void write_step_state(Tensor& state, const StepState& value) {
  check_state("write_step_state", state);
  StepState host = value;
  copy(Tensor::from_blob(&host, {int64_t(sizeof host)}, DType::u8), state);
}

void begin_step(const LrSchedule& schedule, Tensor& state) {
  check_state("begin_step", state);
  TARE_DISPATCH_CPU(state.device(), kCost, begin_step(schedule, state));
}

void finish_grad_norm(double max_norm, Tensor& state) {
  check_state("finish_grad_norm", state);
  TARE_CHECK(max_norm >= 0, "finish_grad_norm: max_norm ", max_norm, " is negative");
  TARE_DISPATCH_CPU(state.device(), kCost, finish_grad_norm(max_norm, state));
}

void count_update(const TensorTable& table, const Tensor& state) {
  check_step_state("count_update", table, state);
  check_pointers("count_update", table, 0);
  const double n = double(table.count());
  TARE_DISPATCH_CPU(table.device(), (Cost{n, 16 * n}), count_update(table, state));
}

void end_step(Tensor& state) {
  check_state("end_step", state);
  TARE_DISPATCH_CPU(state.device(), kCost, end_step(state));
}

}  // namespace tare::kernels
