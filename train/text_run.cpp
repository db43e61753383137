// SPDX-License-Identifier: Apache-2.0
#include "tare/train/text_run.h"

#include <chrono>
#include <cmath>

#include "tare/autograd/ops.h"
#include "tare/core/random_scope.h"
#include "tare/core/utf8.h"
#include "tare/data/byte_tokenizer.h"
#include "tare/optim/factory.h"
#include "tare/optim/schedule.h"

namespace tare::train {
namespace {

constexpr int64_t kEvaluationBatch = 16;  // windows at once

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

void check_options(const TextRunOptions& o) {
  constexpr int64_t kMost = int64_t(1) << 30;
  TARE_CHECK(o.steps >= 1, "steps ", o.steps, ": expected at least 1");
  TARE_CHECK(o.batch >= 1 && o.batch <= kMost, "batch ", o.batch, ": expected 1 to ", kMost);
  TARE_CHECK(o.seq >= 1 && o.seq <= kMost, "seq ", o.seq, ": expected 1 to ", kMost);
  TARE_CHECK(is_utf8(o.text) && is_utf8(o.model), "text ", in_quotes(o.text), ", model ", in_quotes(o.model),
             ": a path that is not UTF-8 cannot stand in a checkpoint; rename it");
  TARE_CHECK(o.dropout >= 0 && o.dropout < 1, "dropout ", o.dropout, ": expected a probability in [0, 1)");
  TARE_CHECK(std::isfinite(o.clip) && o.clip >= 0, "clip ", o.clip, ": expected a finite norm of at least 0");
}

// Of the checkpoint, if there is one.
nn::Gpt2Config config_of(const TextRunOptions& o, const std::filesystem::path& checkpoint) {
  std::filesystem::path folder = checkpoint;
  if (folder.empty() && std::filesystem::is_directory(o.model)) folder = o.model;
  nn::Gpt2Config config =
      folder.empty() ? nn::Gpt2Config::preset(o.model) : nn::Gpt2Config::from_file(folder / "config.json");
  TARE_CHECK(o.seq <= config.n_positions, "seq ", o.seq, " exceeds the ", config.n_positions,
             " positions of model ", o.model);
  TARE_CHECK(config.vocab_size >= data::ByteTokenizer::kVocabSize, "model ", o.model, " has a vocabulary of ",
             config.vocab_size, "; bytes need ", data::ByteTokenizer::kVocabSize);
  config.set_dropout(o.dropout);
  return config;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const TextRunOptions& o,
                                                 const std::vector<optim::ParamGroup>& groups) {
  auto optimizer = optim::make_optimizer(o.optimizer, groups);
  LrSchedule schedule = optimizer->schedule();
  schedule.shape = optim::schedule_shape(o.schedule);
  schedule.warmup = o.warmup;
  schedule.total = o.steps;
  optimizer->set_schedule(schedule);
  return optimizer;
}

std::vector<optim::ParamGroup> param_groups(nn::Module& model) {
  std::vector<optim::ParamGroup> groups;
  for (const nn::ParameterGroup& group : model.parameter_groups())
    groups.push_back({group.parameters, group.name == "decay"});
  return groups;
}

}  // namespace

TextRun::TextRun(const TextRunOptions& options, const std::filesystem::path& checkpoint) : options_(options) {
  check_options(options_);
  make_optimizer(options_, {{{Var::parameter(Tensor::zeros({1}), "any")}}});  // are its options right?
  text_ = std::make_unique<data::TextDataset>(options_.text);
  data::WindowSampler(text_->train(), options_.seq, options_.seed);  // is the text long enough?
  text_hash_ = text_->hash();
  model_ = std::make_unique<nn::Gpt2>(config_of(options_, checkpoint));
  if (checkpoint.empty() && std::filesystem::is_directory(options_.model))
    model_->load_pretrained(options_.model);
  else if (checkpoint.empty())
    model_->initialize(options_.seed);
  model_->train();
  optimizer_ = make_optimizer(options_, param_groups(*model_));
  loader_ = std::make_unique<data::TextLoader>(*text_, options_.batch, options_.seq, options_.seed);
}

TextRun::~TextRun() = default;

StepResult TextRun::step() {
  Stopwatch whole;
  const data::TextBatch& batch = loader_->next();
  const RandomScope random({options_.seed, uint64_t(steps_done()), 0, 1});
  StepResult result;
  {
    Stopwatch phase;
    const LossSum loss = linear_cross_entropy(model_->hidden({.ids = batch.ids}), model_->head_weight(),
                                              batch.targets, {.scale = 1.0 / double(batch.tokens)});
    result.forward_seconds = phase.lap();
    backward(loss.sum);
    result.backward_seconds = phase.lap();
    result.loss = loss.sum.value().item<double>();
  }
  Stopwatch phase;
  const optim::StepReport report = optimizer_->step({.max_grad_norm = options_.clip}).wait();
  optimizer_->zero_grad();
  result.update_seconds = phase.lap();
  result.step = report.update;
  result.grad_norm = report.grad_norm;
  result.learning_rate = report.learning_rate;
  result.tokens = batch.tokens;
  result.seconds = whole.lap();
  return result;
}

Evaluation TextRun::evaluate(int64_t windows, const std::function<bool(int64_t, int64_t)>& go_on) {
  const data::EvaluationWindows all(text_->heldout(), options_.seq);
  Evaluation result;
  result.windows_available = all.count;
  const int64_t wanted = windows == 0 ? all.count : std::min(windows, all.count);
  const nn::EvalScope eval(*model_);
  double sum = 0;
  while (result.windows < wanted && (!go_on || go_on(result.windows, wanted))) {
    std::vector<int64_t> chosen;
    for (; result.windows < wanted && int64_t(chosen.size()) < kEvaluationBatch; ++result.windows)
      chosen.push_back(all.spread(result.windows, wanted));
    const data::TextBatch batch = data::evaluation_batch(*text_, all, chosen);
    const LossSum loss =
        linear_cross_entropy(model_->hidden({.ids = batch.ids}), model_->head_weight(), batch.targets);
    sum += loss.sum.value().item<double>();
    result.tokens += loss.count;
  }
  if (result.tokens > 0) result.loss = sum / double(result.tokens);
  return result;
}

Json TextRun::describe() const {
  return Json::object({{"text", options_.text},
                       {"text_bytes", text_->size()},
                       {"text_hash", text_hash_},
                       {"model", options_.model},
                       {"parameters", model_->num_parameters()},
                       {"optimizer", options_.optimizer},
                       {"schedule", options_.schedule},
                       {"steps", options_.steps},
                       {"batch", options_.batch},
                       {"seq", options_.seq},
                       {"warmup", options_.warmup},
                       {"clip", options_.clip},
                       {"dropout", options_.dropout},
                       {"seed", options_.seed}});
}

}  // namespace tare::train
