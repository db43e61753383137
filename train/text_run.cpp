// SPDX-License-Identifier: Apache-2.0
#include "tare/train/text_run.h"

#include <chrono>
#include <cmath>

#include "tare/autograd/ops.h"
#include "tare/core/rng.h"
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
  TARE_CHECK(o.steps >= 1, "steps ", o.steps, ": expected at least 1");
  TARE_CHECK(o.batch >= 1, "batch ", o.batch, ": expected at least 1");
  TARE_CHECK(o.seq >= 1, "seq ", o.seq, ": expected at least 1");
  TARE_CHECK(o.dropout >= 0 && o.dropout < 1, "dropout ", o.dropout, ": expected a probability in [0, 1)");
  TARE_CHECK(std::isfinite(o.clip) && o.clip >= 0, "clip ", o.clip, ": expected a finite norm of at least 0");
}

nn::Gpt2Config config_of(const TextRunOptions& o) {
  const bool folder = std::filesystem::is_directory(o.model);
  nn::Gpt2Config config = folder ? nn::Gpt2Config::from_file(std::filesystem::path(o.model) / "config.json")
                                 : nn::Gpt2Config::preset(o.model);
  TARE_CHECK(o.seq <= config.n_positions, "seq ", o.seq, " exceeds the ", config.n_positions,
             " positions of model ", o.model);
  TARE_CHECK(config.vocab_size >= data::ByteTokenizer::kVocabSize, "model ", o.model, " has a vocabulary of ",
             config.vocab_size, "; bytes need ", data::ByteTokenizer::kVocabSize);
  config.set_dropout(o.dropout);
  return config;
}

std::unique_ptr<nn::Gpt2> make_model(const TextRunOptions& o, const nn::Gpt2Config& config) {
  auto model = std::make_unique<nn::Gpt2>(config);
  if (std::filesystem::is_directory(o.model))
    model->load_pretrained(o.model);
  else
    model->initialize(o.seed);
  return model;
}

std::vector<optim::ParamGroup> param_groups(nn::Module& model) {
  std::vector<optim::ParamGroup> groups;
  for (const nn::ParameterGroup& group : model.parameter_groups())
    groups.push_back({group.parameters, group.name == "decay"});
  return groups;
}

}  // namespace

TextRun::TextRun(const TextRunOptions& options) : options_(options) {
  check_options(options_);
  text_ = std::make_unique<data::TextDataset>(options_.text);
  const nn::Gpt2Config config = config_of(options_);
  data::WindowSampler(text_->train(), options_.seq, options_.seed);  // is the text long enough?
  text_hash_ = text_->hash();
  model_ = make_model(options_, config);
  model_->train();
  optimizer_ = optim::make_optimizer(options_.optimizer, param_groups(*model_));
  LrSchedule schedule = optimizer_->schedule();
  schedule.shape = optim::schedule_shape(options_.schedule);
  schedule.warmup = options_.warmup;
  schedule.total = options_.steps;
  optimizer_->set_schedule(schedule);
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
  const optim::StepReport report = optimizer_->step({.max_grad_norm = options_.clip});
  optimizer_->zero_grad();
  result.update_seconds = phase.lap();
  result.step = report.update;
  result.grad_norm = report.grad_norm;
  result.learning_rate = report.learning_rate;
  result.tokens = batch.tokens;
  result.seconds = whole.lap();
  return result;
}

Evaluation TextRun::evaluate(int64_t windows) {
  const data::EvaluationWindows all(text_->heldout(), options_.seq);
  Evaluation result;
  result.windows_available = all.count;
  result.windows = windows == 0 ? all.count : std::min(windows, all.count);
  const nn::EvalScope eval(*model_);
  double sum = 0;
  for (int64_t done = 0; done < result.windows;) {
    std::vector<int64_t> chosen;
    for (; done < result.windows && int64_t(chosen.size()) < kEvaluationBatch; ++done)
      chosen.push_back(all.spread(done, result.windows));
    const data::TextBatch batch = data::evaluation_batch(*text_, all, chosen);
    const LossSum loss =
        linear_cross_entropy(model_->hidden({.ids = batch.ids}), model_->head_weight(), batch.targets);
    sum += loss.sum.value().item<double>();
    result.tokens += loss.count;
  }
  result.loss = sum / double(result.tokens);
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
