// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/optimizer_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tare/bench/roof.h"
#include "tare/core/allocator.h"
#include "tare/core/machine.h"
#include "tare/kernels/profile.h"

namespace tare::bench {
namespace {

// Small arrays need more repeats: a thread that wakes late is a larger part of their time.
int roof_repeats(int64_t elements) { return int(std::clamp<int64_t>(50'000'000 / elements, 7, 101)); }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Once more when another program took memory's time from one of the two: a roof is not below a copy.
void measure_roof(OptimizerRun& run) {
  const double bytes_per_element = run.update_bytes / double(run.parameters);
  const int repeats = roof_repeats(run.parameters);
  for (int attempt = 0; attempt == 0 || (attempt < 3 && run.roof_gbps < run.copy_gbps); ++attempt) {
    const Roof roof = measure_streams(pattern_of(bytes_per_element), run.parameters, repeats);
    run.roof_gbps = roof.gbps;
    run.roof_scatter = roof.scatter;
    run.copy_gbps = measure_copy(run.parameters, repeats).gbps;
  }
}

// False when the loss or a gradient is not finite.
bool take_step(train::Run& training, OptimizerRun& run, bool timed, train::StepResult& result) {
  kernels::Profiler profiler;
  profiler.start();
  try {
    result = training.step();
  } catch (const optim::NonFiniteGradient&) {
    profiler.stop();
    return false;
  }
  profiler.stop();
  const kernels::KernelStats update = update_kernels(profiler, training.optimizer().kernel_names());
  run.update_bytes = update.cost.bytes;
  if (timed) {
    run.step_ms.push_back(1e3 * result.seconds);
    run.update_ms.push_back(1e3 * update.seconds);
  }
  return std::isfinite(result.loss);
}

void note_memory(OptimizerRun& run, int64_t rss_before) {
  const LedgerReport memory = ledger(kCpu).report();
  run.peak_bytes = memory.peak_total;
  run.peak = memory.at_peak;
  run.held_bytes = allocator(kCpu).stats().peak_held;
  run.rss_peak_bytes = peak_rss_bytes() - rss_before;
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(v);
  return list;
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> values;
  for (const Json& item : list.items()) values.push_back(item.as_double());
  return values;
}

}  // namespace

kernels::KernelStats update_kernels(const kernels::Profiler& profiler,
                                    const std::vector<std::string>& names) {
  kernels::KernelStats sum;
  for (const kernels::KernelStats& s : profiler.stats())
    if (std::find(names.begin(), names.end(), s.name) != names.end()) {
      sum.calls += s.calls;
      sum.seconds += s.seconds;
      sum.cost.flops += s.cost.flops;
      sum.cost.bytes += s.cost.bytes;
    }
  TARE_CHECK(sum.calls > 0, "no kernel ", names.front(), " ran in the step");
  return sum;
}

LossCurve thinned(const std::vector<double>& seconds, const std::vector<double>& losses, size_t most) {
  LossCurve curve;
  const size_t points = std::min(most, losses.size());
  for (size_t i = 0; i < points; ++i) {
    const size_t begin = losses.size() * i / points, end = losses.size() * (i + 1) / points;
    curve.step.push_back(int64_t(end));
    curve.seconds.push_back(seconds[end - 1]);
    curve.loss.push_back(
        mean({losses.begin() + std::ptrdiff_t(begin), losses.begin() + std::ptrdiff_t(end)}));
  }
  return curve;
}

int64_t warmup_steps(int64_t steps) { return std::min<int64_t>(5, steps / 3); }

OptimizerRun measure_optimizer(const train::RunOptions& options, const MeasureOptions& measure,
                               const std::function<void(const train::StepResult&, int64_t)>& on_step) {
  OptimizerRun run;
  run.optimizer = options.optimizer;
  run.seed = options.seed;
  ledger(kCpu).reset_peaks();
  const std::unique_ptr<train::Run> made = train::make_run(options);
  train::Run& training = *made;
  const int64_t steps = training.options().steps;
  run.description = training.describe();
  const Json* data = run.description.find("data");
  run.data = (data ? *data : run.description.at("text")).as_string();
  run.parameters = training.model().num_parameters();
  run.items = training.words().items;
  run.items_per_step = training.items_per_step();
  run.samples = training.words().samples;
  run.state_bytes_predicted = training.optimizer().state_bytes();
  std::vector<double> seconds, losses;
  while (!training.done() && run.diverged_at == 0) {
    train::StepResult result;
    const int64_t step = int64_t(losses.size()) + 1;
    const bool good = take_step(training, run, step > warmup_steps(steps), result);
    if (step == 1) run.state_bytes = ledger(kCpu).current()[size_t(Category::optimizer_state)];
    if (!good) {
      run.diverged_at = step;
      break;
    }
    seconds.push_back((seconds.empty() ? 0 : seconds.back()) + result.seconds);
    losses.push_back(result.loss);
    on_step(result, steps);
  }
  note_memory(run, measure.rss_before);
  run.curve = thinned(seconds, losses);
  run.train_loss = run.heldout_loss = kNaN;
  if (run.diverged_at == 0) {
    const auto tail = std::max<int64_t>(1, int64_t(losses.size()) / 10);
    run.train_loss = mean({losses.end() - tail, losses.end()});
    const train::Evaluation heldout = training.evaluate(measure.samples);
    run.heldout_loss = heldout.loss;
    run.heldout_samples = heldout.samples;
    run.heldout_accuracy = heldout.accuracy;
  }
  if (run.update_bytes > 0 && !measure.only_the_loss) measure_roof(run);
  return run;
}

Json to_json(const OptimizerRun& r) {
  Json peak = Json::object(), steps = Json::array();
  for (int c = 0; c < kCategories; ++c) peak.set(name_of(Category(c)), r.peak[size_t(c)]);
  for (const int64_t step : r.curve.step) steps.push_back(step);
  return Json::object({{"optimizer", r.optimizer},
                       {"data", r.data},
                       {"seed", r.seed},
                       {"parameters", r.parameters},
                       {"state_bytes", r.state_bytes},
                       {"state_bytes_predicted", r.state_bytes_predicted},
                       {"peak_bytes", r.peak_bytes},
                       {"peak", peak},
                       {"held_bytes", r.held_bytes},
                       {"rss_peak_bytes", r.rss_peak_bytes},
                       {"update_bytes", r.update_bytes},
                       {"roof_gbps", r.roof_gbps},
                       {"roof_scatter", r.roof_scatter},
                       {"copy_gbps", r.copy_gbps},
                       {"items", r.items},
                       {"items_per_step", r.items_per_step},
                       {"train_loss", r.train_loss},
                       {"heldout_loss", r.heldout_loss},
                       {"samples", r.samples},
                       {"heldout_samples", r.heldout_samples},
                       {"heldout_accuracy", r.heldout_accuracy ? Json(*r.heldout_accuracy) : Json()},
                       {"diverged_at", r.diverged_at},
                       {"step_ms", numbers(r.step_ms)},
                       {"update_ms", numbers(r.update_ms)},
                       {"curve", Json::object({{"step", steps},
                                               {"seconds", numbers(r.curve.seconds)},
                                               {"loss", numbers(r.curve.loss)}})}});
}

OptimizerRun optimizer_run_of(const Json& j) {
  OptimizerRun r;
  r.optimizer = j.at("optimizer").as_string();
  r.data = j.at("data").as_string();
  r.seed = j.at("seed").as_uint();
  r.parameters = j.at("parameters").as_int();
  r.state_bytes = j.at("state_bytes").as_int();
  r.state_bytes_predicted = j.at("state_bytes_predicted").as_int();
  r.peak_bytes = j.at("peak_bytes").as_int();
  for (int c = 0; c < kCategories; ++c) r.peak[size_t(c)] = j.at("peak").at(name_of(Category(c))).as_int();
  r.held_bytes = j.at("held_bytes").as_int();
  r.rss_peak_bytes = j.at("rss_peak_bytes").as_int();
  r.update_bytes = j.at("update_bytes").as_double();
  r.roof_gbps = j.at("roof_gbps").as_double();
  r.roof_scatter = j.at("roof_scatter").as_double();
  r.copy_gbps = j.at("copy_gbps").as_double();
  r.items = j.at("items").as_string();
  r.items_per_step = j.at("items_per_step").as_int();
  r.train_loss = j.at("train_loss").as_double();
  r.heldout_loss = j.at("heldout_loss").as_double();
  r.samples = j.at("samples").as_string();
  r.heldout_samples = j.at("heldout_samples").as_int();
  if (!j.at("heldout_accuracy").is_null()) r.heldout_accuracy = j.at("heldout_accuracy").as_double();
  r.diverged_at = j.at("diverged_at").as_int();
  r.step_ms = numbers_of(j.at("step_ms"));
  r.update_ms = numbers_of(j.at("update_ms"));
  const Json& curve = j.at("curve");
  for (const Json& step : curve.at("step").items()) r.curve.step.push_back(step.as_int());
  r.curve.seconds = numbers_of(curve.at("seconds"));
  r.curve.loss = numbers_of(curve.at("loss"));
  TARE_CHECK(r.parameters > 0 && r.curve.seconds.size() == r.curve.step.size() &&
                 r.curve.loss.size() == r.curve.step.size(),
             "a run of ", in_quotes(r.optimizer), " with ", r.parameters,
             " parameters, or a curve whose columns differ in length");
  return r;
}

}  // namespace tare::bench
