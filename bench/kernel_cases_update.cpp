// SPDX-License-Identifier: Apache-2.0
// What happens to all parameters at once: the gradient norm and the optimizers.
#include <optional>
#include <utility>

#include "tare/bench/kernel_cases.h"
#include "tare/kernels/adafactor.h"
#include "tare/kernels/adamw.h"
#include "tare/kernels/adamw8bit.h"
#include "tare/kernels/grad_norm.h"
#include "tare/kernels/sgd.h"
#include "tare/kernels/step.h"

namespace tare::bench {
namespace {

using Call = std::function<void()>;

// A state of an element for every `per` of the parameter's.
struct State {
  DType dtype = DType::f32;
  int64_t per = 1;
};

// The parameters of gpt2 with their gradients and states, all of them small numbers.
struct Parameters {
  // Without states: those of Adafactor.
  explicit Parameters(const std::optional<std::vector<State>>& states) {
    const auto one = [&](int64_t numel, DType dtype = DType::f32) {
      const double value = dtype == DType::u8 ? 200 : 1e-3;
      return tensors.emplace_back(Tensor::full({numel}, value, {dtype, kCpu, {}})).mutable_raw();
    };
    const auto add = [&](int64_t rows, int64_t cols) {
      const int64_t numel = rows * cols;
      TensorEntry entry = {.param = one(numel),
                           .grad = one(numel),
                           .updates = count.mutable_data<int64_t>(),
                           .numel = numel,
                           .weight_decay = 0.01};
      if (states) {
        for (size_t k = 0; k < states->size(); ++k)
          entry.states[k] = one((numel + (*states)[k].per - 1) / (*states)[k].per, (*states)[k].dtype);
      } else {
        entry.states[0] = one(rows > 1 ? rows : numel);
        entry.states[1] = one(cols);
        if (rows > 1) entry.rows = rows, entry.cols = cols;
      }
      entries.push_back(entry);
    };
    add(kVocabulary, kWidth);
    add(1024, kWidth);
    // ln_1, c_attn, c_proj, ln_2, c_fc, c_proj; weight and bias of each
    const std::pair<int64_t, int64_t> block[] = {
        {1, kWidth}, {1, kWidth}, {kWidth, 3 * kWidth}, {1, 3 * kWidth}, {kWidth, kWidth}, {1, kWidth},
        {1, kWidth}, {1, kWidth}, {kWidth, kInner},     {1, kInner},     {kInner, kWidth}, {1, kWidth}};
    for (int layer = 0; layer < 12; ++layer)
      for (const auto& [rows, cols] : block) add(rows, cols);
    add(1, kWidth);
    add(1, kWidth);
    const DType state_dtype = states && !states->empty() ? states->front().dtype : DType::f32;
    table = TensorTable(entries, DType::f32, DType::f32, state_dtype, kCpu);
    StepState begun;
    begun.learning_rate = 1e-4f;
    state = kernels::make_step_state(kCpu, begun);
  }
  std::vector<Tensor> tensors;
  Tensor count = Tensor::zeros({1}, {DType::i64, kCpu, {}});  // of updates, of all
  std::vector<TensorEntry> entries;
  TensorTable table;
  Tensor state;
};

Call grad_norm_call() {
  Parameters p(std::vector<State>{});
  return [p, scratch = scratch_of(kernels::grad_norm_scratch_bytes(p.table))]() mutable {
    kernels::grad_norm(p.table, 0, scratch, p.state);
  };
}

Call adamw_call() {
  return [p = Parameters(std::vector<State>(2))] { kernels::adamw_update(p.table, {}, p.state); };
}

Call adamw8bit_call() {
  const kernels::AdamW8bitArgs args;
  const State codes{DType::u8}, absmax{DType::f32, args.block};
  return [p = Parameters(std::vector{codes, absmax, codes, absmax}), args] {
    kernels::adamw8bit_update(p.table, args, p.state);
  };
}

Call adafactor_call() {
  Parameters p(std::nullopt);
  return [p, scratch = scratch_of(kernels::adafactor_scratch_bytes(p.table))]() mutable {
    kernels::adafactor_update(p.table, {}, scratch, p.state);
  };
}

Call sgd_call(double momentum) {
  return [p = Parameters(std::vector<State>(momentum == 0 ? 0 : 1)), momentum] {
    kernels::sgd_update(p.table, {.momentum = momentum}, p.state);
  };
}

}  // namespace

std::vector<KernelCase> update_cases() {
  return {
      {"grad_norm/124439808", grad_norm_call},
      {"adamw_update/124439808", adamw_call},
      {"adamw8bit_update/124439808", adamw8bit_call},
      {"adafactor_update/124439808", adafactor_call},
      {"sgd_update/124439808", [] { return sgd_call(0); }},
      {"sgd_momentum_update/124439808", [] { return sgd_call(0.9); }},
  };
}

}  // namespace tare::bench
