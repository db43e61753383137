// SPDX-License-Identifier: Apache-2.0
#include "tare/tools/train_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "tare/bench/roof.h"
#include "tare/core/checkpoint_dir.h"
#include "tare/core/ledger.h"
#include "tare/core/machine.h"
#include "tare/tools/commands.h"
#include "tare/train/progress.h"
#include "tare/train/stop_signal.h"

namespace tare::tools {
namespace {

void append(Json& object, const Json& more) {
  for (const auto& [name, value] : more.members()) object.set(name, value);
}

class TrainLoop {
 public:
  explicit TrainLoop(const LoopOptions& options);
  int run();

 private:
  void train();
  void step();
  void evaluate(int64_t samples, const char* when);
  Json to_json(const train::Evaluation& e) const;
  void save();
  void save_apart();
  void log(const Json& line);
  std::string details(const train::StepResult& r) const;
  Json summary() const;

  const LoopOptions& options_;
  std::unique_ptr<train::Run> run_;
  train::Progress progress_;
  train::StopSignal stop_;
  std::ofstream log_;
  std::vector<double> losses_, seconds_;
  int64_t first_step_ = 0, saved_at_ = -1;
  train::Evaluation evaluation_;
  Json evaluations_ = Json::array();
};

TrainLoop::TrainLoop(const LoopOptions& options)
    : options_(options),
      run_(train::make_run(options.run, options.architecture_from)),
      progress_("step", run_->options().steps) {
  if (!options.save.empty()) check_checkpoint_target(options.save);
  if (!options.resume.empty())
    for (const std::string& warning : run_->resume(options.resume)) progress_.print("warning: " + warning);
  first_step_ = run_->steps_done();
  if (!options.log.empty()) {
    log_.open(options.log, options.resume.empty() ? std::ios::trunc : std::ios::app);
    TARE_CHECK(log_.good(), "--log ", options.log, ": cannot be written");
  }
  Json begin = run_->describe();
  begin.set("event", "begin");
  begin.set("step", first_step_);
  log(begin);
}

void TrainLoop::log(const Json& line) {
  if (!log_.is_open()) return;
  log_ << line.dump() << "\n" << std::flush;
  TARE_CHECK(log_.good(), "--log ", options_.log, ": writing failed, is the disk full?");
}

std::string TrainLoop::details(const train::StepResult& r) const {
  char accuracy[32] = "", text[192];
  if (r.accuracy) std::snprintf(accuracy, sizeof accuracy, "  accuracy %.1f %%", 100 * *r.accuracy);
  std::snprintf(text, sizeof text, "loss %.4f%s  lr %.2e  %.0f %s/s  %.1f ms/step  peak %s", r.loss, accuracy,
                r.learning_rate, double(r.items) / r.seconds, run_->words().items, 1e3 * r.seconds,
                train::format_bytes(ledger(kCpu).peak_total()).c_str());
  return text;
}

void TrainLoop::step() {
  const train::StepResult r = run_->step();
  losses_.push_back(r.loss);
  seconds_.push_back(r.seconds);
  progress_.show(r.step, details(r));
  Json line = Json::object({{"step", r.step},
                            {"loss", r.loss},
                            {"grad_norm", r.grad_norm},
                            {"learning_rate", r.learning_rate},
                            {detail::concat(run_->words().items, "_per_s"), double(r.items) / r.seconds},
                            {"step_ms", 1e3 * r.seconds}});
  if (r.accuracy) line.set("accuracy", *r.accuracy);
  log(line);
}

// Fields of lines and of the summary: "heldout_loss", "heldout_windows", "heldout_tokens", ...
Json TrainLoop::to_json(const train::Evaluation& e) const {
  const std::string samples = detail::concat("heldout_", run_->words().samples);
  Json j = Json::object({{"heldout_loss", e.loss}});
  if (e.accuracy) j.set("heldout_accuracy", *e.accuracy);
  j.set(samples, e.samples);
  j.set(samples + "_available", e.samples_available);
  j.set(detail::concat("heldout_", run_->words().items), e.items);
  return j;
}

void TrainLoop::evaluate(int64_t samples, const char* when) {
  const train::TaskWords& words = run_->words();
  std::optional<train::Progress> long_one;  // a line of its own, if it takes seconds
  const auto begin = std::chrono::steady_clock::now();
  evaluation_ = run_->evaluate(samples, [&](int64_t done, int64_t of) {
    if (!long_one && std::chrono::steady_clock::now() - begin > std::chrono::seconds(1)) {
      progress_.finish();
      long_one.emplace(detail::concat("evaluation, ", words.samples), of);
    }
    if (long_one) long_one->show(done, "");
    return !stop_.requested();
  });
  long_one.reset();
  if (stop_.requested()) when = ", interrupted";
  char accuracy[32] = "";
  if (evaluation_.accuracy)
    std::snprintf(accuracy, sizeof accuracy, ", accuracy %.2f %%,", 100 * *evaluation_.accuracy);
  progress_.print(detail::concat("step ", run_->steps_done(), ": held-out loss ", evaluation_.loss, " ",
                                 words.unit, accuracy, " over ", evaluation_.samples, " of ",
                                 evaluation_.samples_available, " ", words.samples, when));
  Json entry = Json::object({{"event", "evaluation"}, {"step", run_->steps_done()}});
  append(entry, to_json(evaluation_));
  log(entry);
  evaluations_.push_back(entry);
}

void TrainLoop::save() {
  if (options_.save.empty() || saved_at_ == run_->steps_done()) return;
  run_->save(options_.save);
  saved_at_ = run_->steps_done();
  progress_.print(detail::concat("step ", saved_at_, ": saved ", options_.save));
}

Json TrainLoop::summary() const {
  Json j = Json::object({{"steps", run_->steps_done()}});
  if (!losses_.empty()) {
    const auto tail = std::max<int64_t>(1, int64_t(losses_.size()) / 10);
    j.set("train_loss", std::accumulate(losses_.end() - tail, losses_.end(), 0.0) / double(tail));
  }
  if (evaluation_.samples > 0) append(j, to_json(evaluation_));
  if (!seconds_.empty()) {
    const size_t skipped = std::min<size_t>(5, seconds_.size() / 3);
    const double step = bench::median({seconds_.begin() + std::ptrdiff_t(skipped), seconds_.end()});
    j.set(detail::concat(run_->words().items, "_per_s"), double(run_->items_per_step()) / step);
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
    if (options_.eval_every > 0 && at % options_.eval_every == 0 && !last)
      evaluate(options_.eval_samples, "");
    if (options_.save_every > 0 && at % options_.save_every == 0 && !last) save();
  }
}

// Beside --save, whose checkpoint may be the last good one. The error that is on its way matters more than
// one here.
void TrainLoop::save_apart() {
  if (options_.save.empty() || run_->steps_done() == first_step_) return;
  const std::string place = options_.save + ".failed";
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
  if (options_.json != "-") std::printf("%s\n", j.dump().c_str());
  write_json(options_.json, j);
  TARE_CHECK(std::isfinite(evaluation_.loss), "the run has diverged: its held-out loss is ",
             evaluation_.loss);
  return stop_.requested() ? 128 + stop_.number() : 0;
}

}  // namespace

int run_training(const LoopOptions& options) { return TrainLoop(options).run(); }

}  // namespace tare::tools
