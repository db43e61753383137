// SPDX-License-Identifier: Apache-2.0
#include "tare/train/run.h"

#include <chrono>
#include <cmath>
#include <set>

#include "tare/core/random_scope.h"
#include "tare/core/utf8.h"
#include "tare/optim/factory.h"
#include "tare/optim/schedule.h"

namespace tare::train {
namespace {

// Seconds since it was made or last asked.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    begin_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void set_schedule(const RunOptions& o, optim::Optimizer& optimizer) {
  LrSchedule schedule = optimizer.schedule();
  schedule.shape = optim::schedule_shape(o.schedule);
  schedule.warmup = o.warmup;
  schedule.total = o.steps;
  optimizer.set_schedule(schedule);
}

}  // namespace

std::vector<optim::ParamGroup> param_groups(nn::Module& model) {
  std::set<const void*> tables;
  for (const Var& table : model.embedding_tables()) tables.insert(table.node().get());
  std::vector<optim::ParamGroup> groups;
  for (const nn::ParameterGroup& group : model.parameter_groups()) {
    const bool decay = group.name == "decay";
    for (const Var& p : group.parameters) {
      const bool embedding = tables.contains(p.node().get());
      if (groups.empty() || groups.back().decay != decay || groups.back().embedding != embedding)
        groups.push_back({.params = {}, .decay = decay, .embedding = embedding});
      groups.back().params.push_back(p);
    }
  }
  return groups;
}

Run::~Run() = default;

void Run::check_options() const {
  constexpr int64_t kMost = int64_t(1) << 30;
  const RunOptions& o = options_;
  TARE_CHECK(o.steps >= 1, "steps ", o.steps, ": expected at least 1");
  TARE_CHECK(o.batch >= 1 && o.batch <= kMost, "batch ", o.batch, ": expected 1 to ", kMost);
  TARE_CHECK(is_utf8(o.model), "model ", in_quotes(o.model),
             ": a path that is not UTF-8 cannot stand in a checkpoint; rename it");
  TARE_CHECK(o.dropout >= 0 && o.dropout < 1, "dropout ", o.dropout, ": expected a probability in [0, 1)");
  TARE_CHECK(std::isfinite(o.clip) && o.clip >= 0, "clip ", o.clip, ": expected a finite norm of at least 0");
  set_schedule(o, *optim::make_trial_optimizer(o.optimizer));
}

void Run::optimize(nn::Module& model) {
  model_ = &model;
  model.train();
  optimizer_ = optim::make_optimizer(options_.optimizer, param_groups(model));
  set_schedule(options_, *optimizer_);
}

StepResult Run::step() {
  Stopwatch whole;
  next_batch();
  const RandomScope random({options_.seed, uint64_t(steps_done()), 0, 1});
  StepResult result;
  {
    Stopwatch phase;
    const Forward made = forward();
    result.forward_seconds = phase.lap();
    backward(made.loss);
    result.backward_seconds = phase.lap();
    result.loss = made.loss.value().item<double>();
    result.accuracy = made.accuracy;
  }
  Stopwatch phase;
  const optim::StepReport report = optimizer_->step({.max_grad_norm = options_.clip}).wait();
  optimizer_->zero_grad();
  result.update_seconds = phase.lap();
  result.step = report.update;
  result.grad_norm = report.grad_norm;
  result.learning_rate = report.learning_rate;
  result.items = items_per_step();
  result.seconds = whole.lap();
  return result;
}

Json Run::describe() const {
  Json run = Json::object({{"task", words().task}});
  const Json data = describe_data();
  for (const auto& [name, value] : data.members()) run.set(name, value);
  run.set("model", options_.model);
  run.set("parameters", model_->num_parameters());
  run.set("optimizer", options_.optimizer);
  run.set("schedule", options_.schedule);
  run.set("steps", options_.steps);
  run.set("batch", options_.batch);
  run.set("warmup", options_.warmup);
  run.set("clip", options_.clip);
  run.set("dropout", options_.dropout);
  run.set("seed", options_.seed);
  return run;
}

}  // namespace tare::train
