// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/step.h"

#include <algorithm>

#include "tare/bench/gemm_baseline.h"
#include "tare/bench/roof.h"
#include "tare/core/allocator.h"
#include "tare/core/machine.h"
#include "tare/nn/models/gpt2.h"
#include "tare/nn/models/vit.h"

namespace tare::bench {
namespace {

constexpr int kWarmup = 3;

GemmBaseline products_of(const nn::Gpt2Config& c, int64_t tokens) {
  return GemmBaseline({{tokens, c.n_embd, 3 * c.n_embd, c.n_layer},
                       {tokens, c.n_embd, c.n_embd, c.n_layer},
                       {tokens, c.n_embd, c.inner(), c.n_layer},
                       {tokens, c.inner(), c.n_embd, c.n_layer},
                       {tokens, c.n_embd, c.vocab_size, 1}});
}

// The patches' convolution has no overlap: it is a product too, though without a gradient of its input.
GemmBaseline products_of(const nn::VitConfig& c, int64_t images) {
  const int64_t tokens = images * (c.patches() + 1);
  return GemmBaseline({{tokens, c.hidden_size, c.hidden_size, 4 * c.num_hidden_layers},
                       {tokens, c.hidden_size, c.intermediate_size, c.num_hidden_layers},
                       {tokens, c.intermediate_size, c.hidden_size, c.num_hidden_layers},
                       {images * c.patches(), c.num_channels * c.patch_size * c.patch_size, c.hidden_size, 1},
                       {images, c.hidden_size, c.num_labels, 1}});
}

// None of a model whose products are not known here.
GemmBaseline products_of(train::Run& run) {
  if (!GemmBaseline::available()) return GemmBaseline({});
  if (const auto* gpt2 = dynamic_cast<const nn::Gpt2*>(&run.model()))
    return products_of(gpt2->config(), run.items_per_step());
  if (const auto* vit = dynamic_cast<const nn::Vit*>(&run.model()))
    return products_of(vit->config(), run.items_per_step());
  return GemmBaseline({});
}

}  // namespace

StepBench::StepBench(const train::RunOptions& options, int64_t rss_before) {
  train::RunOptions endless = options;
  endless.steps = int64_t(1) << 40;
  ledger(kCpu).reset_peaks();
  run_ = train::make_run(endless);
  for (int i = 0; i < kWarmup; ++i) run_->step();
  peak_bytes_ = ledger(kCpu).report().peak_total;
  rss_peak_bytes_ = peak_rss_bytes() - rss_before;
}

double StepBench::measure() { return 1e3 * run_->step().seconds; }

StepBreakdown measure_step(const train::RunOptions& options, int repeats, int64_t rss_before,
                           const std::function<void(int done)>& on_repeat) {
  TARE_CHECK(repeats >= 1, "bench step: ", repeats, " repeats; expected at least 1");
  StepBench bench(options, rss_before);
  train::Run& run = bench.run();
  StepBreakdown result;
  const LedgerReport memory = ledger(kCpu).report();
  result.peak_bytes = memory.peak_total;
  result.peak = memory.at_peak;
  result.held_bytes = allocator(kCpu).stats().peak_held;
  result.rss_peak_bytes = bench.rss_peak_bytes();

  GemmBaseline products = products_of(run);
  const bool with_products = products.flops() > 0;
  if (with_products) products.run();
  std::vector<double> step, forward, backward, update, gemm;
  kernels::Profiler profiler, last;
  for (int i = 0; i < repeats; ++i) {
    kernels::Profiler& current = i + 1 == repeats ? last : profiler;
    current.start(i + 1 == repeats);
    const train::StepResult r = run.step();
    current.stop();
    step.push_back(1e3 * r.seconds);
    forward.push_back(1e3 * r.forward_seconds);
    backward.push_back(1e3 * r.backward_seconds);
    update.push_back(1e3 * r.update_seconds);
    if (with_products) gemm.push_back(1e3 * products.run());
    on_repeat(i + 1);
  }
  result.step_ms = median(step);
  result.step_scatter = scatter(step);
  result.forward_ms = median(forward);
  result.backward_ms = median(backward);
  result.update_ms = median(update);
  if (with_products) {
    result.gemm_ms = median(gemm);
    result.gemm_scatter = scatter(gemm);
    result.gemm_gflops = products.flops() / result.gemm_ms * 1e-6;
  }
  result.kernels = last.stats();
  result.events = last.events();
  return result;
}

}  // namespace tare::bench
