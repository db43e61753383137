// SPDX-License-Identifier: Apache-2.0
// tare bench optimizers: the same model from the same seeds on the same data with each optimizer, a process
// for each run.
#include <cmath>
#include <cstdio>
#include <memory>

#include "tare/bench/optimizer_report.h"
#include "tare/bench/optimizer_table.h"
#include "tare/bench/report/page.h"
#include "tare/core/file_writer.h"
#include "tare/optim/factory.h"
#include "tare/optim/spec.h"
#include "tare/tools/bench_commands.h"
#include "tare/tools/run_options.h"
#include "tare/tools/subprocess.h"
#include "tare/train/progress.h"

namespace tare::tools {
namespace {

struct OptimizersCommand {
  train::RunOptions run;
  std::string optimizers = "sgd:lr=0.3,momentum=0.9,adamw:lr=1e-3,adamw8bit:lr=1e-3,adafactor:lr=2e-2";
  std::string eval_windows = "64";
  std::string json, csv, report, peers;
  int64_t seeds = 1;
  bool tune = false;
  int64_t tune_steps = 0;  // 0: as many as a run has
  int threads = 0;
  // Internal, from the process that runs them all to the one that makes a run:
  std::string only;              // this optimizer, here; what it gives goes to --json
  std::string label;             // of the line of progress
  double before = 0, total = 1;  // the runs before this one, and all of them, in lengths of this one
  bool only_the_loss = false;
};

// In the child: trains, measures, writes the run.
void make_run(const OptimizersCommand& command) {
  train::RunOptions options = command.run;
  options.optimizer = command.only;
  std::optional<train::Progress> progress;
  int64_t before = 0;
  const auto show = [&](const train::StepResult& r, int64_t steps) {
    if (!progress) {
      progress.emplace(command.label, std::llround(command.total * double(steps)));
      before = std::llround(command.before * double(steps));
    }
    char text[96];
    std::snprintf(text, sizeof text, "loss %.4f, %.1f ms/step", r.loss, 1e3 * r.seconds);
    progress->show(before + r.step, text);
  };
  const bench::OptimizerRun run = bench::measure_optimizer(options,
                                                           {.samples = parse_windows(command.eval_windows),
                                                            .rss_before = start_rss_bytes(),
                                                            .only_the_loss = command.only_the_loss},
                                                           show);
  progress.reset();
  write_json(command.json, Json::object({{"run", to_json(run)}, {"description", run.description}}));
}

// All runs, one after another, each in a process of its own.
class Runs {
 public:
  explicit Runs(const OptimizersCommand& command, size_t optimizers);
  bench::OptimizerRow row(const std::string& optimizer);
  const Json& description() const { return first_; }  // of the first run

 private:
  static constexpr int64_t kFirstRates = 5;  // of a sweep, before it grows
  bench::Tuning tune(const std::string& optimizer);
  bench::OptimizerRun run(const std::string& optimizer, const train::RunOptions& options, bool tuning);

  OptimizersCommand command_;
  Json description_;  // of the latest run
  Json first_;
  double done_ = 0, total_ = 0;  // updates; of epochs, in any unit
};

Runs::Runs(const OptimizersCommand& command, size_t optimizers) : command_(command) {
  const int64_t tune_steps = command_.tune_steps > 0 ? command_.tune_steps : command_.run.steps;
  const int64_t tuning = command_.tune ? kFirstRates * tune_steps : 0;
  total_ = double(int64_t(optimizers) * (tuning + command_.seeds * command_.run.steps));
}

bench::OptimizerRun Runs::run(const std::string& optimizer, const train::RunOptions& options, bool tuning) {
  total_ = std::max(total_, done_ + double(options.steps));
  const auto length = double(options.steps);
  const TemporaryFile file;
  const std::string label =
      detail::concat(optimizer, tuning ? " (tuning)" : "", ", seed ", options.seed, ", update of all");
  std::vector<std::string> words = {"bench",          "optimizers",
                                    "--only",         optimizer,
                                    "--label",        label,
                                    "--before",       Json(done_ / length).dump(),
                                    "--total",        Json(total_ / length).dump(),
                                    "--json",         file.path(),
                                    "--eval-windows", command_.eval_windows,
                                    "--threads",      std::to_string(command_.threads)};
  if (tuning) words.push_back("--only-the-loss");
  append_run_options(words, options);
  done_ += length;
  run_self(words);
  const Json result = Json::parse_file(file.path());
  description_ = result.at("description");
  if (!tuning && first_.is_null()) first_ = description_;
  return bench::optimizer_run_of(result.at("run"));
}

// Each rate with the same seed, which no run of the row has, so that the row does not profit from the choice.
bench::Tuning Runs::tune(const std::string& optimizer) {
  train::RunOptions options = command_.run;
  if (command_.tune_steps > 0) {
    if (options.epochs == 0)  // as large a part as of the row's runs
      options.warmup = options.warmup * command_.tune_steps / std::max<int64_t>(1, options.steps);
    options.warmup = std::min(options.warmup, command_.tune_steps);
    options.steps = command_.tune_steps;
    options.epochs = 0;
  }
  options.seed = command_.run.seed + uint64_t(command_.seeds);
  bench::Tuning tuning{options.steps, options.seed,
                       bench::LearningRateSearch(bench::learning_rate_of(optimizer))};
  for (int64_t tried = 0; const auto factor = tuning.search.next(); ++tried) {
    if (tried >= kFirstRates) total_ += double(options.steps);
    const double lr = *factor * tuning.search.lr();
    const bench::OptimizerRun r = run(bench::with_learning_rate(optimizer, lr), options, true);
    tuning.steps = description_.at("steps").as_int();
    tuning.search.add({*factor, lr, r.train_loss, r.heldout_loss, r.diverged_at});
  }
  return tuning;
}

bench::OptimizerRow Runs::row(const std::string& optimizer) {
  bench::OptimizerRow row;
  row.optimizer = optimizer;
  std::string ran = optimizer;
  if (command_.tune) {
    row.tuning = tune(optimizer);
    ran = bench::with_learning_rate(optimizer, row.tuning->search.best().lr);
  }
  train::RunOptions options = command_.run;
  for (int64_t i = 0; i < command_.seeds; ++i, ++options.seed) row.runs.push_back(run(ran, options, false));
  return row;
}

// What would make the figures untrue is an error, after they are shown.
void check_rows(const std::vector<bench::OptimizerRow>& rows) {
  for (const bench::OptimizerRow& row : rows)
    for (const bench::OptimizerRun& r : row.runs) {
      TARE_CHECK(r.state_bytes == r.state_bytes_predicted, row.optimizer, ": ", r.state_bytes,
                 " bytes of state in the ledger, ", r.state_bytes_predicted, " predicted");
      TARE_CHECK(r.roof_gbps >= r.copy_gbps, row.optimizer, ": the roof of ", r.roof_gbps,
                 " GB/s is below a copy's ", r.copy_gbps,
                 " GB/s: the machine was too noisy for this measurement, run it again");
    }
}

Json described(const OptimizersCommand& command, const Json& description) {
  Json run = Json::object();
  for (const auto& [key, value] : description.members())
    if (key != "optimizer") run.set(key, value);  // the rows have it
  run.set("seeds", command.seeds);
  run.set("eval_windows", command.eval_windows);
  run.set("tuned", command.tune);
  return run;
}

void check(const OptimizersCommand& command, const std::vector<std::string>& optimizers) {
  TARE_CHECK(command.seeds >= 1, "--seeds ", command.seeds, ": expected at least 1");
  TARE_CHECK(command.tune_steps >= 0, "--tune-steps ", command.tune_steps, ": expected at least 1");
  TARE_CHECK(command.tune_steps == 0 || command.tune, "--tune-steps: needs --tune");
  TARE_CHECK(command.peers.empty() || !command.report.empty(), "--peers: needs --report F.html to stand in");
  const std::string* outputs[] = {&command.json, &command.csv, &command.report};
  for (const auto* a : outputs)
    for (const auto* b : outputs)
      TARE_CHECK(a == b || a->empty() || *a != *b, *a, ": one file for two outputs");
  for (const std::string& optimizer : optimizers) {  // is each right, before the first is measured?
    TARE_CHECK(std::count(optimizers.begin(), optimizers.end(), optimizer) == 1, "--optimizers: ", optimizer,
               " stands there twice");
    optim::make_trial_optimizer(optimizer);
    if (command.tune) bench::with_learning_rate(optimizer, bench::learning_rate_of(optimizer));
  }
}

void write_files(const OptimizersCommand& command, const bench::OptimizersReport& report,
                 const std::optional<bench::Peers>& peers) {
  if (command.json != "-") write_json(command.json, to_json(report));
  if (!command.csv.empty()) write_file(command.csv, bench::csv_table(report.rows));
  if (!command.report.empty()) write_file(command.report, bench::report_page(report, peers));
}

void run(OptimizersCommand& command) {
  apply_threads(command.threads);
  if (!command.only.empty()) return make_run(command);
  const std::vector<std::string> optimizers = optim::split_specs(command.optimizers);
  check(command, optimizers);
  parse_windows(command.eval_windows);
  std::optional<bench::Peers> peers;
  if (!command.peers.empty()) peers = bench::peers_of(Json::parse_file(command.peers), command.peers);
  Runs runs(command, optimizers.size());
  bench::OptimizersReport report;
  Json stamped = Json::object();
  stamp(stamped);
  report.machine = stamped.at("machine");
  report.command = stamped.at("command").as_string();
  report.date = stamped.at("date").as_string();
  std::string failed;  // the rows that were measured are reported nonetheless
  for (const std::string& optimizer : optimizers) {
    try {
      report.rows.push_back(runs.row(optimizer));
    } catch (const Error& e) {
      failed += detail::concat(failed.empty() ? "" : "; ", optimizer, ": ", e.what());
      continue;
    }
    report.run = described(command, runs.description());
    write_files(command, report, peers);  // whole so far: what takes hours may be interrupted
  }
  if (!report.rows.empty()) {
    if (command.json == "-")
      write_json(command.json, to_json(report));
    else
      std::printf("\n%s", bench::text_table(report.rows).c_str());
  }
  TARE_CHECK(failed.empty(), failed);
  check_rows(report.rows);
}

void add_outputs(CLI::App& command, OptimizersCommand& options) {
  command.add_option("--json", options.json, "Also write everything as JSON to this file (- is stdout)");
  command.add_option("--csv", options.csv, "Also write the rows as CSV to this file");
  command.add_option("--report", options.report, "Also write a page with charts to this file (HTML)");
  command.add_option("--peers", options.peers,
                     "What bench/peers/run measured of other libraries (JSON), for the page");
}

void add_internal(CLI::App& command, OptimizersCommand& options) {
  command.add_option("--only", options.only)->group("");
  command.add_option("--label", options.label)->group("");
  command.add_option("--before", options.before)->group("");
  command.add_option("--total", options.total)->group("");
  command.add_flag("--only-the-loss", options.only_the_loss)->group("");
}

}  // namespace

void add_bench_optimizers(CLI::App& bench) {
  auto options = std::make_shared<OptimizersCommand>();
  options->run.steps = 300;
  options->run.seq = 64;
  CLI::App* command =
      bench.add_subcommand("optimizers", "Train one model with each optimizer: memory, speed, loss");
  command
      ->add_option("--optimizers", options->optimizers, "Optimizers with their options, separated by commas")
      ->capture_default_str();
  add_run_options(*command, options->run);
  command->add_option("--seeds", options->seeds, "Runs of each optimizer, with --seed and the ones after it")
      ->capture_default_str();
  command->add_flag("--tune", options->tune,
                    "Sweep each optimizer's learning rate first, by factors of two, with a seed of its own");
  command->add_option("--tune-steps", options->tune_steps,
                      "Updates of each run of a sweep (default: --steps)");
  command->add_option("--eval-windows", options->eval_windows, "Held-out windows at the end, or all")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  add_outputs(*command, *options);
  add_internal(*command, *options);
  command->callback([command, options] {
    // Of epochs the steps are not known yet, and a warm-up must not be longer.
    const int64_t steps = options->run.epochs > 0 ? 0 : options->run.steps;
    if (command->count("--warmup") == 0) options->run.warmup = std::min<int64_t>(20, steps / 10);
    resolve_data(*command, options->run);
    run(*options);
  });
}

}  // namespace tare::tools
