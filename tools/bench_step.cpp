// SPDX-License-Identifier: Apache-2.0
// tare bench step: a training step taken apart, beside its matrix products alone.
#include <cstdio>
#include <memory>

#include "tare/bench/step.h"
#include "tare/bench/trace.h"
#include "tare/tools/bench_commands.h"
#include "tare/tools/run_options.h"
#include "tare/tools/turns.h"
#include "tare/train/progress.h"

namespace tare::tools {
namespace {

struct StepCommand {
  train::RunOptions run;
  std::string json, trace;
  int repeats = 7;
  int threads = 0;
  bool turns = false;
};

Json to_json(const bench::StepBreakdown& b) {
  Json peak = Json::object(), kernels = Json::array();
  for (int c = 0; c < kCategories; ++c) peak.set(name_of(Category(c)), b.peak[size_t(c)]);
  for (const auto& k : b.kernels)
    kernels.push_back(Json::object({{"name", k.name},
                                    {"calls", k.calls},
                                    {"ms", 1e3 * k.seconds},
                                    {"share", 1e3 * k.seconds / b.step_ms},
                                    {"flops", k.cost.flops},
                                    {"bytes", k.cost.bytes},
                                    {"gflops", k.cost.flops / k.seconds * 1e-9},
                                    {"gbps", k.cost.bytes / k.seconds * 1e-9}}));
  return Json::object({{"step_ms", b.step_ms},
                       {"step_scatter", b.step_scatter},
                       {"forward_ms", b.forward_ms},
                       {"backward_ms", b.backward_ms},
                       {"update_ms", b.update_ms},
                       {"gemm_ms", b.gemm_ms},
                       {"gemm_scatter", b.gemm_scatter},
                       {"gemm_gflops", b.gemm_gflops},
                       {"step_over_gemm", b.step_over_gemm()},
                       {"peak_bytes", b.peak_bytes},
                       {"peak", peak},
                       {"held_bytes", b.held_bytes},
                       {"rss_peak_bytes", b.rss_peak_bytes},
                       {"kernels", kernels}});
}

void print(const bench::StepBreakdown& b) {
  std::printf("step %.1f ms (spread %.0f %%): forward %.1f, backward %.1f, update %.1f\n", b.step_ms,
              100 * b.step_scatter, b.forward_ms, b.backward_ms, b.update_ms);
  if (b.gemm_ms > 0)
    std::printf(
        "its matrix products alone %.1f ms (spread %.0f %%), %.1f GFLOP/s: the step takes %.3f times as "
        "long\n",
        b.gemm_ms, 100 * b.gemm_scatter, b.gemm_gflops, b.step_over_gemm());
  std::printf("peak %s in the ledger, %s held, %s of RSS above the start\n\n",
              train::format_bytes(b.peak_bytes).c_str(), train::format_bytes(b.held_bytes).c_str(),
              train::format_bytes(b.rss_peak_bytes).c_str());
  std::printf("%-28s %6s %10s %7s %10s %9s\n", "kernel", "calls", "ms", "share", "GFLOP/s", "GB/s");
  for (const auto& k : b.kernels)
    std::printf("%-28s %6lld %10.3f %6.1f%% %10.1f %9.1f\n", k.name.c_str(), static_cast<long long>(k.calls),
                1e3 * k.seconds, 1e5 * k.seconds / b.step_ms, k.cost.flops / k.seconds * 1e-9,
                k.cost.bytes / k.seconds * 1e-9);
}

void run_by_turns(const StepCommand& options) {
  bench::StepBench bench(options.run, start_rss_bytes());
  const Json description = bench.run().describe();
  take_turns(
      Json::object({{"ready", true}, {"library", "tare"}, {"run", description}}),
      [&] {
        return Json::object({{"ms", bench.measure()}});
      },
      [&] {
        return Json::object({{"peak_bytes", bench.peak_bytes()}, {"rss_peak_bytes", bench.rss_peak_bytes()}});
      });
}

void run(StepCommand& options) {
  apply_threads(options.threads);
  if (options.turns) return run_by_turns(options);
  train::Progress progress("repeat", options.repeats);
  const bench::StepBreakdown b = bench::measure_step(options.run, options.repeats, start_rss_bytes(),
                                                     [&](int done) { progress.show(done, ""); });
  progress.finish();
  if (options.json != "-") print(b);
  Json report = to_json(b);
  report.set("run", Json::object({{"model", options.run.model},
                                  {"optimizer", options.run.optimizer},
                                  {"batch", options.run.batch},
                                  {"seq", options.run.seq},
                                  {"clip", options.run.clip},
                                  {"dropout", options.run.dropout},
                                  {"repeats", options.repeats}}));
  stamp(report);
  write_json(options.json, report);
  if (!options.trace.empty()) bench::write_trace(options.trace, b.events);
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  auto options = std::make_shared<StepCommand>();
  options->run.model = "gpt2";
  options->run.batch = 4;
  options->run.seq = 256;
  options->run.schedule = "constant";
  CLI::App* command =
      bench.add_subcommand("step", "A training step taken apart, beside its matrix products alone");
  command->add_option("--text", options->run.text,
                      "File or folder to train on (default: Tare's own sources and docs)");
  command->add_option("--data", options->run.data,
                      "Folder of images in IDX files (default: synthetic images of the model's size)");
  command->add_option("--model", options->run.model, "Preset or folder")->capture_default_str();
  command->add_option("--batch", options->run.batch, "Sequences or images per step")->capture_default_str();
  command->add_option("--seq", options->run.seq, "Tokens per sequence")->capture_default_str();
  command->add_option("--optimizer", options->run.optimizer, "Optimizer with options")->capture_default_str();
  command->add_option("--clip", options->run.clip, "Greatest global norm of the gradients; 0 does not clip")
      ->capture_default_str();
  command->add_option("--dropout", options->run.dropout, "Probability to drop")->capture_default_str();
  command->add_option("--repeats", options->repeats, "Steps that are measured")->capture_default_str();
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  command->add_option("--json", options->json, "Also write everything as JSON to this file (- is stdout)");
  command->add_option("--trace", options->trace,
                      "Write a timeline of the last step, for Perfetto, to this file");
  command->add_flag("--turns", options->turns,
                    "One step for each line on stdin, told as a line of JSON: by turns with another program");
  command->callback([command, options] {
    resolve_data(*command, options->run);
    run(*options);
  });
}

}  // namespace tare::tools
