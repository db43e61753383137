// SPDX-License-Identifier: Apache-2.0
// tare bench optimizers: the same model from the same seed on the same text with each optimizer, a process
// each.
#include <cstdio>
#include <memory>

#include "tare/bench/optimizer_row.h"
#include "tare/data/text_dataset.h"
#include "tare/optim/factory.h"
#include "tare/optim/spec.h"
#include "tare/tools/bench_commands.h"
#include "tare/tools/run_options.h"
#include "tare/tools/subprocess.h"
#include "tare/train/progress.h"

namespace tare::tools {
namespace {

struct OptimizersOptions {
  train::RunOptions run;
  std::string optimizers = "sgd:lr=0.3,momentum=0.9,adamw:lr=2e-3";
  std::string eval_windows = "64";
  std::string json;
  std::string row;  // internal: measure this optimizer here and write its row to --json
  int threads = 0;
};

Json row_json(const bench::OptimizerRow& r) {
  Json peak = Json::object();
  for (int c = 0; c < kCategories; ++c) peak.set(name_of(Category(c)), r.peak[size_t(c)]);
  return Json::object({{"optimizer", r.optimizer},
                       {"parameters", r.parameters},
                       {"state_bytes", r.state_bytes},
                       {"state_bytes_predicted", r.state_bytes_predicted},
                       {"bytes_per_param", r.bytes_per_param()},
                       {"peak_bytes", r.peak_bytes},
                       {"peak", peak},
                       {"held_bytes", r.held_bytes},
                       {"rss_peak_bytes", r.rss_peak_bytes},
                       {"update_ms", r.update_ms},
                       {"update_gbps", r.update_gbps},
                       {"roof_gbps", r.roof_gbps},
                       {"roof_scatter", r.roof_scatter},
                       {"copy_gbps", r.copy_gbps},
                       {"step_ms", r.step_ms},
                       {"tokens_per_s", r.items_per_s},
                       {"train_loss", r.train_loss},
                       {"heldout_loss", r.heldout.loss},
                       {"heldout_windows", r.heldout.samples}});
}

// In the child: trains, measures, writes the row.
void measure_row(const OptimizersOptions& options) {
  train::RunOptions run = options.run;
  run.optimizer = options.row;
  train::Progress progress(options.row, run.steps);
  const auto show = [&](const train::StepResult& r) {
    char text[96];
    std::snprintf(text, sizeof text, "loss %.4f, %.1f ms/step", r.loss, 1e3 * r.seconds);
    progress.show(r.step, text);
  };
  const bench::OptimizerRow row =
      bench::measure_optimizer(run, parse_windows(options.eval_windows), start_rss_bytes(), show);
  progress.finish();
  write_json(options.json, row_json(row));
}

Json run_row(const OptimizersOptions& options, const std::string& optimizer) {
  const TemporaryFile file;
  std::vector<std::string> words = {"bench",          "optimizers",
                                    "--row",          optimizer,
                                    "--json",         file.path(),
                                    "--eval-windows", options.eval_windows,
                                    "--threads",      std::to_string(options.threads)};
  append_run_options(words, options.run);
  run_self(words);
  return Json::parse_file(file.path());
}

void print_table(const Json& rows) {
  std::printf("\n%-24s %14s %14s %8s %10s %9s %6s %6s %9s %9s %7s %8s\n", "optimizer", "state bytes",
              "predicted", "B/param", "peak", "update ms", "GB/s", "roof", "ms/step", "tokens/s", "train",
              "held-out");
  bool above = false;
  for (const Json& r : rows.items()) {
    const double update = r.at("update_gbps").as_double(), roof = r.at("roof_gbps").as_double();
    above = above || update > roof;
    std::printf("%-24s %14lld %14lld %8.4f %10s %9.3f %6.1f %5.0f%% %9.2f %9.0f %7.4f %8.4f\n",
                r.at("optimizer").as_string().c_str(), static_cast<long long>(r.at("state_bytes").as_int()),
                static_cast<long long>(r.at("state_bytes_predicted").as_int()),
                r.at("bytes_per_param").as_double(), train::format_bytes(r.at("peak_bytes").as_int()).c_str(),
                r.at("update_ms").as_double(), update, 100 * update / roof, r.at("step_ms").as_double(),
                r.at("tokens_per_s").as_double(), r.at("train_loss").as_double(),
                r.at("heldout_loss").as_double());
  }
  if (above)
    std::printf(
        "above 100 %%: small arrays were still in the caches in part, or others used memory while the roof "
        "was measured\n");
  std::printf("\npeak memory by category, bytes\n%-24s", "optimizer");
  const auto shown = [&rows](const std::string& category) {
    for (const Json& r : rows.items())
      if (r.at("peak").at(category).as_int() != 0) return true;
    return false;
  };
  for (int c = 0; c < kCategories; ++c)
    if (shown(std::string(name_of(Category(c)))))
      std::printf(" %16s", std::string(name_of(Category(c))).c_str());
  for (const Json& r : rows.items()) {
    std::printf("\n%-24s", r.at("optimizer").as_string().c_str());
    for (int c = 0; c < kCategories; ++c) {
      const std::string category(name_of(Category(c)));
      if (shown(category)) std::printf(" %16lld", static_cast<long long>(r.at("peak").at(category).as_int()));
    }
  }
  std::printf("\n");
}

// What would make the figures untrue is an error, after the table is shown.
void check_rows(const Json& rows) {
  for (const Json& r : rows.items()) {
    const std::string name = r.at("optimizer").as_string();
    TARE_CHECK(r.at("state_bytes") == r.at("state_bytes_predicted"), name, ": ", r.at("state_bytes").as_int(),
               " bytes of state in the ledger, ", r.at("state_bytes_predicted").as_int(), " predicted");
    TARE_CHECK(r.at("roof_gbps").as_double() >= r.at("copy_gbps").as_double(), name, ": the roof of ",
               r.at("roof_gbps").as_double(), " GB/s is below a copy's ", r.at("copy_gbps").as_double(),
               " GB/s: the machine was too noisy for this measurement, run it again");
  }
}

Json run_json(const train::RunOptions& o) {
  const data::TextDataset text(o.text);
  return Json::object({{"text", o.text},
                       {"text_bytes", text.size()},
                       {"text_hash", text.hash()},
                       {"model", o.model},
                       {"schedule", o.schedule},
                       {"steps", o.steps},
                       {"batch", o.batch},
                       {"seq", o.seq},
                       {"warmup", o.warmup},
                       {"clip", o.clip},
                       {"dropout", o.dropout},
                       {"seed", o.seed}});
}

void run(OptimizersOptions& options) {
  apply_threads(options.threads);
  resolve_text(options.run);
  if (!options.row.empty()) return measure_row(options);
  const std::vector<std::string> optimizers = optim::split_specs(options.optimizers);
  for (const std::string& optimizer : optimizers)  // is each of them right, before the first is measured?
    optim::make_optimizer(optimizer, {{{Var::parameter(Tensor::zeros({1}), "any")}}});
  Json rows = Json::array();
  std::string failed;  // the rows that were measured are reported nonetheless
  for (const std::string& optimizer : optimizers) try {
      rows.push_back(run_row(options, optimizer));
    } catch (const Error& e) {
      failed += detail::concat(failed.empty() ? "" : "; ", optimizer, ": ", e.what());
    }
  Json report = Json::object({});
  stamp(report);
  report.set("run", run_json(options.run));
  report.set("rows", rows);
  if (options.json != "-") print_table(rows);
  write_json(options.json, report);
  TARE_CHECK(failed.empty(), failed);
  check_rows(rows);
}

}  // namespace

void add_bench_optimizers(CLI::App& bench) {
  auto options = std::make_shared<OptimizersOptions>();
  options->run.steps = 300;
  options->run.seq = 64;
  CLI::App* command =
      bench.add_subcommand("optimizers", "Train one model with each optimizer: memory, speed, loss");
  command
      ->add_option("--optimizers", options->optimizers, "Optimizers with their options, separated by commas")
      ->capture_default_str();
  add_run_options(*command, options->run);
  command->add_option("--eval-windows", options->eval_windows, "Held-out windows at the end, or all")
      ->capture_default_str();
  command->add_option("--json", options->json, "Also write everything as JSON to this file (- is stdout)");
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  command->add_option("--row", options->row)->group("");
  command->callback([command, options] {
    if (command->count("--warmup") == 0) options->run.warmup = std::min<int64_t>(20, options->run.steps / 10);
    run(*options);
  });
}

}  // namespace tare::tools
