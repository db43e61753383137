// SPDX-License-Identifier: Apache-2.0
// The table of AdamW's cases: several tensors in one call, each with a weight decay, a factor on the learning
// rate and a count of updates of its own.
#pragma once

#include <cmath>
#include <string>

#include "tare/kernels/adamw.h"

#include "tests/ref/optim.h"
#include "tests/support/op_case.h"

namespace tare::test {

// What the entry of tensor k is given besides its data.
inline double adamw_weight_decay(size_t k) { return k % 2 == 0 ? 0.1 : 0.0; }
inline double adamw_lr_factor(size_t k) { return k % 3 == 2 ? 0.5 : 1; }
inline int64_t adamw_updates(size_t k, const StepState& state) { return state.update - (k == 1 ? 4 : 0); }

inline const kernels::AdamWArgs kAdamWArgs = {.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6};

inline void* address_of(Tensor& t) { return t.device().is_meta() ? nullptr : t.mutable_raw(); }

// Inputs: a gradient for each size. Outputs: parameter, exp_avg and exp_avg_sq of each, updated in place.
inline OpCase adamw_case(const std::string& name, const std::vector<int64_t>& sizes, DType dtype,
                         StepState state) {
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  OpCase row;
  row.name = "adamw_" + name + "_" + std::string(name_of(dtype));
  row.dtypes = {dtype};
  int64_t numel = 0;
  for (const int64_t n : sizes) {
    const std::string k = std::to_string(row.inputs.size());
    row.inputs.push_back({"g" + k, {n}, normal(0, 2), wide});
    row.outputs.push_back({"p" + k, {n}, normal()});
    row.outputs.push_back({"m" + k, {n}, normal(0, 0.5), wide});
    row.outputs.push_back({"v" + k, {n}, uniform(0, 2), wide});
    numel += n;
  }
  row.flops = 15.0 * double(numel);
  row.run = [=](Tensors& in, Tensors& out) {
    const Device device = in[0].device();
    std::vector<TensorEntry> entries;
    std::vector<int64_t> updates;
    for (size_t k = 0; k < in.size(); ++k) updates.push_back(adamw_updates(k, state));
    Tensor counts = Tensor::from_vector(updates, {int64_t(in.size())}).to(device);
    for (size_t k = 0; k < in.size(); ++k)
      entries.push_back({.param = address_of(out[3 * k]),
                         .grad = address_of(in[k]),
                         .states = {address_of(out[3 * k + 1]), address_of(out[3 * k + 2])},
                         .updates = device.is_meta() ? nullptr : counts.mutable_data<int64_t>() + k,
                         .numel = in[k].numel(),
                         .lr_factor = adamw_lr_factor(k),
                         .weight_decay = adamw_weight_decay(k)});
    const TensorTable table(entries, dtype, wide, wide, device);
    StepState copy = state;
    const Tensor on_device = Tensor::from_blob(&copy, {int64_t(sizeof copy)}, DType::u8).to(device);
    kernels::adamw_update(table, kAdamWArgs, on_device);
  };
  row.ref = [=](const Operands& a) {
    std::vector<Values> out = a.before;
    if (state.found_inf != 0) return out;
    for (size_t k = 0; k < a.in.size(); ++k) {
      Values g = a.in[k];
      for (double& x : g) x *= double(state.clip_coefficient) / double(state.loss_scale);
      const ref::AdamWOptions options{.lr = state.learning_rate * adamw_lr_factor(k),
                                      .beta1 = kAdamWArgs.beta1,
                                      .beta2 = kAdamWArgs.beta2,
                                      .eps = kAdamWArgs.eps,
                                      .weight_decay = adamw_weight_decay(k)};
      ref::adamw(out[3 * k], out[3 * k + 1], out[3 * k + 2], g, adamw_updates(k, state) + 1, options);
    }
    return out;
  };
  return row;
}

inline std::vector<OpCase> adamw_cases() {
  const StepState usual{.update = 6, .learning_rate = 0.05};
  const StepState clipped{.update = 41, .learning_rate = 0.01, .clip_coefficient = 0.25, .loss_scale = 8};
  const StepState skipped{.update = 6, .learning_rate = 0.05, .found_inf = 1, .first_nonfinite = 0};
  std::vector<OpCase> rows;
  for (const DType dtype : kFloating) {
    rows.push_back(adamw_case("one_tensor", {1000}, dtype, usual));
    // Around the size of a GPU block's chunk, with small and empty tensors between.
    rows.push_back(adamw_case("many_tensors", {4095, 1, 4096, 0, 3, 4097, 17, 0, 9000, 8}, dtype, clipped));
    rows.push_back(adamw_case("skipped_step", {300, 5}, dtype, skipped));
  }
  rows.push_back(adamw_case("first_step", {64, 7}, DType::f32, {.update = 4, .learning_rate = 0.1}));
  return rows;
}

}  // namespace tare::test
