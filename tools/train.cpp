// SPDX-License-Identifier: Apache-2.0
// tare train: trains a language model on a text.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>

#include "tare/bench/roof.h"
#include "tare/core/checkpoint_dir.h"
#include "tare/core/ledger.h"
#include "tare/core/machine.h"
#include "tare/tools/run_options.h"
#include "tare/train/progress.h"
#include "tare/train/stop_signal.h"

namespace tare::tools {
namespace {

struct TrainCommand {
  train::RunOptions run;
  std::optional<double> lr, weight_decay;
  int threads = 0;
  int64_t eval_every = 0, save_every = 0;
  std::string eval_windows = "64";
  std::string save, resume, log, json;
  bool model_given = false, overwrite = false;
};

// --lr and --weight-decay become options of the optimizer's text, where they may stand only once.
void add_optimizer_option(std::string& text, const char* key, const char* flag,
                          const std::optional<double>& value) {
  if (!value) return;
  const std::string option = detail::concat(key, "=");
  const size_t colon = text.find(':');
  const bool given = colon != std::string::npos && (text.find(":" + option) != std::string::npos ||
                                                    text.find("," + option) != std::string::npos);
  TARE_CHECK(!given, flag, ": --optimizer ", text, " already has ", key);
  text += detail::concat(colon == std::string::npos ? ":" : ",", option, Json(*value).dump());
}

class TrainLoop {
 public:
  explicit TrainLoop(const TrainCommand& command);
  int run();

 private:
  void train();
  void step();
  void evaluate(int64_t windows, const char* when);
  void save();
  void save_apart();
  void log(const Json& line);
  std::string details(const train::StepResult& r) const;
  Json summary() const;

  const TrainCommand& command_;
  std::unique_ptr<train::Run> run_;
  train::Progress progress_;
  train::StopSignal stop_;
  std::ofstream log_;
  std::vector<double> losses_, seconds_;
  int64_t first_step_ = 0, saved_at_ = -1;
  train::Evaluation evaluation_;
  Json evaluations_ = Json::array();
};

std::filesystem::path checkpoint_of(const TrainCommand& command) {
  return command.resume.empty() || command.model_given ? "" : resolve_checkpoint(command.resume);
}

TrainLoop::TrainLoop(const TrainCommand& command)
    : command_(command),
      run_(train::make_run(command.run, checkpoint_of(command))),
      progress_("step", command.run.steps) {
  if (!command.save.empty()) check_checkpoint_target(command.save);
  if (!command.resume.empty())
    for (const std::string& warning : run_->resume(command.resume)) progress_.print("warning: " + warning);
  first_step_ = run_->steps_done();
  if (!command.log.empty()) {
    log_.open(command.log, command.resume.empty() ? std::ios::trunc : std::ios::app);
    TARE_CHECK(log_.good(), "--log ", command.log, ": cannot be written");
  }
  Json begin = run_->describe();
  begin.set("event", "begin");
  begin.set("step", first_step_);
  log(begin);
}

void TrainLoop::log(const Json& line) {
  if (!log_.is_open()) return;
  log_ << line.dump() << "\n" << std::flush;
  TARE_CHECK(log_.good(), "--log ", command_.log, ": writing failed, is the disk full?");
}

std::string TrainLoop::details(const train::StepResult& r) const {
  char text[160];
  std::snprintf(text, sizeof text, "loss %.4f  lr %.2e  %.0f tokens/s  %.1f ms/step  peak %s", r.loss,
                r.learning_rate, double(r.items) / r.seconds, 1e3 * r.seconds,
                train::format_bytes(ledger(kCpu).peak_total()).c_str());
  return text;
}

void TrainLoop::step() {
  const train::StepResult r = run_->step();
  losses_.push_back(r.loss);
  seconds_.push_back(r.seconds);
  progress_.show(r.step, details(r));
  log(Json::object({{"step", r.step},
                    {"loss", r.loss},
                    {"grad_norm", r.grad_norm},
                    {"learning_rate", r.learning_rate},
                    {"tokens_per_s", double(r.items) / r.seconds},
                    {"step_ms", 1e3 * r.seconds}}));
}

void TrainLoop::evaluate(int64_t windows, const char* when) {
  std::optional<train::Progress> long_one;  // a line of its own, if it takes seconds
  const auto begin = std::chrono::steady_clock::now();
  evaluation_ = run_->evaluate(windows, [&](int64_t done, int64_t of) {
    if (!long_one && std::chrono::steady_clock::now() - begin > std::chrono::seconds(1)) {
      progress_.finish();
      long_one.emplace("evaluation, window", of);
    }
    if (long_one) long_one->show(done, "");
    return !stop_.requested();
  });
  long_one.reset();
  if (stop_.requested()) when = ", interrupted";
  progress_.print(detail::concat("step ", run_->steps_done(), ": held-out loss ", evaluation_.loss, " ",
                                 run_->words().unit, " over ", evaluation_.samples, " of ",
                                 evaluation_.samples_available, " ", run_->words().samples, when));
  Json entry = Json::object({{"event", "evaluation"},
                             {"step", run_->steps_done()},
                             {"heldout_loss", evaluation_.loss},
                             {"heldout_windows", evaluation_.samples},
                             {"heldout_windows_available", evaluation_.samples_available},
                             {"heldout_tokens", evaluation_.items}});
  log(entry);
  evaluations_.push_back(entry);
}

void TrainLoop::save() {
  if (command_.save.empty() || saved_at_ == run_->steps_done()) return;
  run_->save(command_.save);
  saved_at_ = run_->steps_done();
  progress_.print(detail::concat("step ", saved_at_, ": saved ", command_.save));
}

Json TrainLoop::summary() const {
  Json j = Json::object({{"steps", run_->steps_done()}});
  if (!losses_.empty()) {
    const auto tail = std::max<int64_t>(1, int64_t(losses_.size()) / 10);
    j.set("train_loss", std::accumulate(losses_.end() - tail, losses_.end(), 0.0) / double(tail));
  }
  if (evaluation_.samples > 0) {
    j.set("heldout_loss", evaluation_.loss);
    j.set("heldout_windows", evaluation_.samples);
    j.set("heldout_windows_available", evaluation_.samples_available);
    j.set("heldout_tokens", evaluation_.items);
  }
  if (!seconds_.empty()) {
    const size_t skipped = std::min<size_t>(5, seconds_.size() / 3);
    const double step = bench::median({seconds_.begin() + std::ptrdiff_t(skipped), seconds_.end()});
    j.set("tokens_per_s", double(run_->items_per_step()) / step);
    j.set("step_ms", 1e3 * step);
  }
  const LedgerReport memory = ledger(kCpu).report();
  Json peak = Json::object();
  for (int c = 0; c < kCategories; ++c) peak.set(name_of(Category(c)), memory.at_peak[size_t(c)]);
  j.set("peak_bytes", memory.peak_total);
  j.set("peak", peak);
  j.set("evaluations", evaluations_);
  j.set("rss_peak_bytes", peak_rss_bytes() - start_rss_bytes());
  j.set("interrupted", stop_.requested());
  j.set("run", run_->describe());
  stamp(j);
  return j;
}

void TrainLoop::train() {
  while (!run_->done() && !stop_.requested()) {
    step();
    const int64_t at = run_->steps_done();
    const bool last = run_->done();
    if (command_.eval_every > 0 && at % command_.eval_every == 0 && !last)
      evaluate(parse_windows(command_.eval_windows), "");
    if (command_.save_every > 0 && at % command_.save_every == 0 && !last) save();
  }
}

// Beside --save, whose checkpoint may be the last good one. The error that is on its way matters more than
// one here.
void TrainLoop::save_apart() {
  if (command_.save.empty() || run_->steps_done() == first_step_) return;
  const std::string place = command_.save + ".failed";
  try {
    run_->save(place);
    progress_.print(detail::concat("step ", run_->steps_done(), ": saved ", place));
  } catch (const std::exception& e) {
    progress_.print(detail::concat("step ", run_->steps_done(), ": could not be saved: ", e.what()));
  }
}

int TrainLoop::run() {
  try {
    train();
  } catch (...) {  // a gradient that is not finite, a full disk under the log: what was trained is kept
    save_apart();
    throw;
  }
  save();  // before the last evaluation: what was trained is safe
  if (!stop_.requested()) evaluate(0, ", all of them");
  progress_.finish();
  const Json j = summary();
  if (command_.json != "-") std::printf("%s\n", j.dump().c_str());
  write_json(command_.json, j);
  TARE_CHECK(std::isfinite(evaluation_.loss), "the run has diverged: its held-out loss is ",
             evaluation_.loss);
  return stop_.requested() ? 128 + stop_.number() : 0;
}

// The options of the checkpoint stand in for those that the command line does not give.
void fill_from_checkpoint(const CLI::App& command, TrainCommand& options) {
  const train::RunOptions given = options.run;
  options.run = train::Run::options_of(resolve_checkpoint(options.resume));
  const auto keep = [&](const char* flag, auto member) {
    if (command.count(flag) > 0) options.run.*member = given.*member;
  };
  keep("--text", &train::RunOptions::text);
  keep("--model", &train::RunOptions::model);
  keep("--optimizer", &train::RunOptions::optimizer);
  keep("--schedule", &train::RunOptions::schedule);
  keep("--steps", &train::RunOptions::steps);
  keep("--batch", &train::RunOptions::batch);
  keep("--seq", &train::RunOptions::seq);
  keep("--warmup", &train::RunOptions::warmup);
  keep("--clip", &train::RunOptions::clip);
  keep("--dropout", &train::RunOptions::dropout);
  keep("--seed", &train::RunOptions::seed);
}

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& folder) {
  const fs::path inner = fs::weakly_canonical(path), outer = fs::weakly_canonical(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// No output goes over or into the text, or over another output.
void check_outputs(const TrainCommand& o) {
  std::vector<std::pair<std::string, fs::path>> outputs;
  if (!o.save.empty()) outputs.emplace_back("--save", o.save);
  if (!o.log.empty()) outputs.emplace_back("--log", o.log);
  if (!o.json.empty() && o.json != "-") outputs.emplace_back("--json", o.json);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [flag, path] = outputs[i];
    if (fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path)) continue;  // a device
    TARE_CHECK(!is_within(path, o.run.text), flag, " ", path.string(), " lies in the text ", o.run.text,
               ", which it would change");
    for (size_t j = 0; j < i; ++j)
      TARE_CHECK(!is_within(path, outputs[j].second) && !is_within(outputs[j].second, path), flag, " and ",
                 outputs[j].first, " overlap: ", path.string());
  }
  const bool goes_on = !o.resume.empty() && fs::weakly_canonical(o.save) == fs::weakly_canonical(o.resume);
  TARE_CHECK(o.save.empty() || goes_on || o.overwrite || !is_checkpoint(o.save), "--save ", o.save,
             " holds the checkpoint of another run: --resume it, or let it be replaced with --overwrite");
}

int run(const CLI::App& command, TrainCommand& options) {
  apply_threads(options.threads);
  TARE_CHECK(options.eval_every >= 0, "--eval-every ", options.eval_every, ": expected 0 (never) or more");
  TARE_CHECK(options.save_every >= 0, "--save-every ", options.save_every,
             ": expected 0 (at the end) or more");
  if (options.save.empty()) options.save = options.resume;
  TARE_CHECK(options.save_every == 0 || !options.save.empty(), "--save-every: needs --save DIR");
  parse_windows(options.eval_windows);
  TARE_CHECK(options.eval_every > 0 || command.count("--eval-windows") == 0,
             "--eval-windows: needs --eval-every N; the evaluation at the end takes all windows");
  const bool optimizer_given = command.count("--optimizer") > 0;
  if (!options.resume.empty()) {
    fill_from_checkpoint(command, options);
    TARE_CHECK(optimizer_given || (!options.lr && !options.weight_decay),
               "--resume takes learning rate and weight decay from the checkpoint");
  }
  options.model_given = command.count("--model") > 0;
  resolve_text(options.run);
  add_optimizer_option(options.run.optimizer, "lr", "--lr", options.lr);
  add_optimizer_option(options.run.optimizer, "weight_decay", "--weight-decay", options.weight_decay);
  check_outputs(options);
  return TrainLoop(options).run();
}

}  // namespace

void add_train(CLI::App& app, int& status) {
  auto options = std::make_shared<TrainCommand>();
  CLI::App* command = app.add_subcommand("train", "Train a language model on a text");
  add_run_options(*command, options->run);
  command
      ->add_option("--optimizer", options->run.optimizer,
                   "Optimizer with options, as in adamw:lr=1e-3,beta2=0.95")
      ->capture_default_str();
  command->add_option("--lr", options->lr, "Learning rate after warm-up (default: the optimizer's)");
  command->add_option("--weight-decay", options->weight_decay,
                      "Weight decay of matrices (default: the optimizer's)");
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  command->add_option("--eval-every", options->eval_every, "Evaluate every so many steps, besides the end");
  command->add_option("--eval-windows", options->eval_windows, "Held-out windows for --eval-every, or all")
      ->capture_default_str();
  command->add_option(
      "--save", options->save,
      "Folder for the checkpoint, written at the end and on Ctrl-C or SIGTERM (default: that of --resume)");
  command->add_flag("--overwrite", options->overwrite, "Let --save replace the checkpoint of another run");
  command->add_option("--save-every", options->save_every, "Also save every so many steps");
  command->add_option("--resume", options->resume,
                      "Go on from this checkpoint, with its text, model, optimizer, steps and seed; how to "
                      "save, evaluate and log is given anew");
  command->add_option("--log", options->log, "Write every step as a line of JSON to this file");
  command->add_option("--json", options->json, "Also write the summary as JSON to this file (- is stdout)");
  command->callback([command, options, &status] { status = run(*command, *options); });
}

}  // namespace tare::tools
