// SPDX-License-Identifier: Apache-2.0
// tare bench update: optimizers' updates alone, on the parameters of a model, against the roof.
#include <cstdio>
#include <memory>

#include "tare/bench/optimizer_table.h"
#include "tare/bench/statistics.h"
#include "tare/bench/update.h"
#include "tare/core/machine.h"
#include "tare/optim/factory.h"
#include "tare/optim/spec.h"
#include "tare/tools/bench_commands.h"
#include "tare/tools/run_options.h"
#include "tare/tools/turns.h"
#include "tare/train/progress.h"

namespace tare::tools {
namespace {

struct UpdateCommand {
  train::RunOptions run;
  std::string optimizers = "sgd:momentum=0.9,adamw,adamw8bit,adafactor";
  std::string json;
  double clip = 0;
  int repeats = 7;
  int threads = 0;
  bool turns = false;
};

struct Samples {
  std::vector<double> update, step, roof;
  void add(const bench::UpdateSample& s) {
    update.push_back(s.update_ms);
    step.push_back(s.step_ms);
    roof.push_back(s.roof_gbps);
  }
};

Json row_json(const std::string& optimizer, const bench::UpdateBench& bench, const Samples& s) {
  const double update = bench::median(s.update), roof = bench::median(s.roof);
  return Json::object({{"optimizer", optimizer},
                       {"parameters", bench.parameters()},
                       {"state_bytes", bench.state_bytes()},
                       {"update_ms", update},
                       {"update_scatter", bench::scatter(s.update)},
                       {"step_ms", bench::median(s.step)},
                       {"step_scatter", bench::scatter(s.step)},
                       {"bytes", bench.bytes()},
                       {"gbps", bench.bytes() / update * 1e-6},
                       {"roof_gbps", roof},
                       {"roof_scatter", bench::scatter(s.roof)},
                       {"percent_of_roof", 100 * bench.roof_ms(roof) / update}});
}

std::vector<std::string> line_of(const Json& row) {
  const auto number = [&row](const char* key, const char* pattern, double scale) {
    char text[32];
    std::snprintf(text, sizeof text, pattern, scale * row.at(key).as_double());
    return std::string(text);
  };
  return {row.at("optimizer").as_string(),         number("update_ms", "%.3f", 1),
          number("update_scatter", "%.0f%%", 100), number("gbps", "%.1f", 1),
          number("roof_gbps", "%.1f", 1),          number("roof_scatter", "%.0f%%", 100),
          number("percent_of_roof", "%.1f%%", 1),  number("step_ms", "%.3f", 1),
          number("step_scatter", "%.0f%%", 100)};
}

void run_by_turns(const UpdateCommand& command, const std::string& optimizer) {
  train::RunOptions options = command.run;
  options.optimizer = optimizer;
  bench::UpdateBench bench(options, command.clip);
  Samples samples;
  take_turns(
      Json::object({{"ready", true}, {"library", std::string("tare")}, {"parameters", bench.parameters()}}),
      [&] {
        const bench::UpdateSample s = bench.measure();
        samples.add(s);
        return Json::object(
            {{"ms", s.step_ms}, {"kernel_ms", s.update_ms}, {"roof_ms", bench.roof_ms(s.roof_gbps)}});
      },
      [&] { return samples.update.empty() ? Json::object({}) : row_json(optimizer, bench, samples); });
}

void run(UpdateCommand& command) {
  apply_threads(command.threads);
  if (!is_of_images(command.run)) resolve_text(command.run);
  TARE_CHECK(command.repeats >= 1, "--repeats ", command.repeats, ": expected at least 1");
  const std::vector<std::string> optimizers = optim::split_specs(command.optimizers);
  for (const std::string& optimizer : optimizers)  // is each right, before the first is measured?
    optim::make_trial_optimizer(optimizer);
  if (command.turns) {
    TARE_CHECK(optimizers.size() == 1, "--turns: expected one optimizer, got ", optimizers.size());
    return run_by_turns(command, optimizers[0]);
  }
  Json rows = Json::array();
  std::vector<std::vector<std::string>> lines = {{"optimizer", "update ms", "scatter", "GB/s", "roof GB/s",
                                                  "scatter", "of roof", "with norm, ms", "scatter"}};
  for (const std::string& optimizer : optimizers) {
    train::RunOptions options = command.run;
    options.optimizer = optimizer;
    bench::UpdateBench bench(options, command.clip);
    train::Progress progress(optimizer, command.repeats);
    Samples samples;
    for (int i = 0; i < command.repeats; ++i) {
      samples.add(bench.measure());
      progress.show(i + 1, "");
    }
    rows.push_back(row_json(optimizer, bench, samples));
    lines.push_back(line_of(rows.items().back()));
  }
  if (command.json != "-") std::printf("%s", bench::aligned(lines).c_str());
  Json report = Json::object(
      {{"run",
        Json::object({{"model", command.run.model}, {"clip", command.clip}, {"repeats", command.repeats}})},
       {"rows", rows}});
  stamp(report);
  write_json(command.json, report);
}

}  // namespace

void add_bench_update(CLI::App& bench) {
  auto options = std::make_shared<UpdateCommand>();
  options->run.model = "gpt2";
  options->run.batch = 1;
  options->run.seq = 16;
  options->run.schedule = "constant";
  CLI::App* command = bench.add_subcommand(
      "update", "Optimizers' updates alone, on the parameters of a model, against the roof");
  command
      ->add_option("--optimizers", options->optimizers, "Optimizers with their options, separated by commas")
      ->capture_default_str();
  command->add_option("--model", options->run.model, "Preset or folder")->capture_default_str();
  command->add_option("--clip", options->clip, "Greatest global norm of the gradients; 0 does not clip")
      ->capture_default_str();
  command->add_option("--repeats", options->repeats, "Updates that are measured")->capture_default_str();
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  command->add_option("--json", options->json, "Also write everything as JSON to this file (- is stdout)");
  command->add_flag(
      "--turns", options->turns,
      "One update for each line on stdin, told as a line of JSON: by turns with another program");
  command->callback([options] { run(*options); });
}

}  // namespace tare::tools
