// SPDX-License-Identifier: Apache-2.0
// What happens to all parameters at once: the gradient norm and the optimizers.
#include "tare/bench/kernel_cases.h"
#include "tare/kernels/adamw.h"
#include "tare/kernels/grad_norm.h"
#include "tare/kernels/sgd.h"
#include "tare/kernels/step.h"

namespace tare::bench {
namespace {

using Call = std::function<void()>;

// The parameters of gpt2 with their gradients and `states` states each, all of them small numbers.
struct Parameters {
  explicit Parameters(int states) {
    const auto add = [&](int64_t numel) {
      const auto one = [&] { return tensors.emplace_back(Tensor::full({numel}, 1e-3)).mutable_raw(); };
      TensorEntry entry = {.param = one(),
                           .grad = one(),
                           .updates = count.mutable_data<int64_t>(),
                           .numel = numel,
                           .weight_decay = 0.01};
      for (int k = 0; k < states; ++k) entry.states[k] = one();
      entries.push_back(entry);
    };
    add(kVocabulary * kWidth);
    add(1024 * kWidth);
    for (int layer = 0; layer < 12; ++layer)
      for (const int64_t numel : {kWidth, kWidth, 3 * kWidth * kWidth, 3 * kWidth, kWidth * kWidth, kWidth,
                                  kWidth, kWidth, kInner * kWidth, kInner, kWidth * kInner, kWidth})
        add(numel);
    add(kWidth);
    add(kWidth);
    table = TensorTable(entries, DType::f32, DType::f32, DType::f32, kCpu);
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
  Parameters p(0);
  return [p, scratch = scratch_of(kernels::grad_norm_scratch_bytes(p.table))]() mutable {
    kernels::grad_norm(p.table, 0, scratch, p.state);
  };
}

Call adamw_call() {
  return [p = Parameters(2)] { kernels::adamw_update(p.table, {}, p.state); };
}

Call sgd_call(double momentum) {
  return [p = Parameters(momentum == 0 ? 0 : 1), momentum] {
    kernels::sgd_update(p.table, {.momentum = momentum}, p.state);
  };
}

}  // namespace

std::vector<KernelCase> update_cases() {
  return {
      {"grad_norm/124439808", grad_norm_call},
      {"adamw_update/124439808", adamw_call},
      {"sgd_update/124439808", [] { return sgd_call(0); }},
      {"sgd_momentum_update/124439808", [] { return sgd_call(0.9); }},
  };
}

}  // namespace tare::bench
