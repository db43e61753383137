// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/update.h"

#include <chrono>

#include "tare/autograd/ops.h"
#include "tare/bench/optimizer_run.h"

namespace tare::bench {

UpdateBench::UpdateBench(const train::RunOptions& options, double max_grad_norm)
    : run_(train::make_run(options)), max_grad_norm_(max_grad_norm) {
  parameters_ = run_->model().num_parameters();
  uint64_t seed = 1;
  for (const Var& p : run_->optimizer().params())
    backward(p * 1e-3, {.seed = Tensor::randn(p.shape(), seed++, {p.dtype(), p.device(), {}})});
  update();
  update();
}

UpdateSample UpdateBench::update() {
  kernels::Profiler profiler;
  profiler.start();
  const auto begin = std::chrono::steady_clock::now();
  run_->optimizer().step({.max_grad_norm = max_grad_norm_}).wait();
  const std::chrono::duration<double, std::milli> whole = std::chrono::steady_clock::now() - begin;
  profiler.stop();
  const kernels::KernelStats kernels = update_kernels(profiler, run_->optimizer().kernel_names());
  bytes_ = kernels.cost.bytes;
  return {1e3 * kernels.seconds, whole.count(), 0};
}

UpdateSample UpdateBench::measure() {
  flush_();
  UpdateSample sample = update();
  sample.roof_gbps = measure_streams(pattern_of(bytes_ / double(parameters_)), parameters_, 1).gbps;
  return sample;
}

}  // namespace tare::bench
