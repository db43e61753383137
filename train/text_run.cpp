// SPDX-License-Identifier: Apache-2.0
#include "tare/train/text_run.h"

#include "tare/autograd/ops.h"
#include "tare/core/utf8.h"
#include "tare/data/byte_tokenizer.h"

namespace tare::train {
namespace {

constexpr int64_t kEvaluationBatch = 16;  // windows at once

void check_text_options(const RunOptions& o) {
  constexpr int64_t kMost = int64_t(1) << 30;
  TARE_CHECK(o.seq >= 1 && o.seq <= kMost, "seq ", o.seq, ": expected 1 to ", kMost);
  TARE_CHECK(is_utf8(o.text), "text ", in_quotes(o.text),
             ": a path that is not UTF-8 cannot stand in a checkpoint; rename it");
}

// Of the checkpoint, if there is one.
nn::Gpt2Config config_of(const RunOptions& o, const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = model_folder(o, checkpoint);
  nn::Gpt2Config config =
      folder.empty() ? nn::Gpt2Config::preset(o.model) : nn::Gpt2Config::from_file(folder / "config.json");
  TARE_CHECK(o.seq <= config.n_positions, "seq ", o.seq, " exceeds the ", config.n_positions,
             " positions of model ", o.model);
  TARE_CHECK(config.vocab_size >= data::ByteTokenizer::kVocabSize, "model ", o.model, " has a vocabulary of ",
             config.vocab_size, "; bytes need ", data::ByteTokenizer::kVocabSize);
  config.set_dropout(o.dropout);
  return config;
}

}  // namespace

TextRun::TextRun(const RunOptions& options, const std::filesystem::path& checkpoint) : Run(options) {
  check_options();
  check_text_options(options_);
  text_ = std::make_unique<data::TextDataset>(options_.text);
  data::WindowSampler(text_->train(), options_.seq, options_.seed);  // is the text long enough?
  text_hash_ = text_->hash();
  model_ = std::make_unique<nn::Gpt2>(config_of(options_, checkpoint));
  if (checkpoint.empty() && std::filesystem::is_directory(options_.model))
    model_->load_pretrained(options_.model);
  else if (checkpoint.empty())
    model_->initialize(options_.seed);
  optimize(*model_);
  seek(0);
}

TextRun::~TextRun() = default;

const TaskWords& TextRun::words() const {
  static constexpr TaskWords kWords{"text", "windows", "tokens", "nats per byte"};
  return kWords;
}

void TextRun::next_batch() { batch_ = loader_->next(); }

Run::Forward TextRun::forward() {
  const LossSum loss = linear_cross_entropy(model_->hidden({.ids = batch_.ids}), model_->head_weight(),
                                            batch_.targets, {.scale = 1.0 / double(batch_.tokens)});
  return {loss.sum, {}};
}

void TextRun::seek(int64_t step) {
  loader_ = std::make_unique<data::TextLoader>(*text_, options_.batch, options_.seq, options_.seed,
                                               step * options_.batch);
}

Evaluation TextRun::evaluate(int64_t windows, const GoOn& go_on) {
  const data::EvaluationWindows all(text_->heldout(), options_.seq);
  Evaluation result;
  result.samples_available = all.count;
  const int64_t wanted = windows == 0 ? all.count : std::min(windows, all.count);
  const nn::EvalScope eval(*model_);
  double sum = 0;
  while (result.samples < wanted && (!go_on || go_on(result.samples, wanted))) {
    std::vector<int64_t> chosen;
    for (; result.samples < wanted && int64_t(chosen.size()) < kEvaluationBatch; ++result.samples)
      chosen.push_back(all.spread(result.samples, wanted));
    const data::TextBatch batch = data::evaluation_batch(*text_, all, chosen);
    const LossSum loss =
        linear_cross_entropy(model_->hidden({.ids = batch.ids}), model_->head_weight(), batch.targets);
    sum += loss.sum.value().item<double>();
    result.items += loss.count;
  }
  if (result.items > 0) result.loss = sum / double(result.items);
  return result;
}

Json TextRun::describe_data() const {
  return Json::object({{"text", options_.text},
                       {"text_bytes", text_->size()},
                       {"text_hash", text_hash_},
                       {"seq", options_.seq}});
}

void TextRun::make_paths_absolute(Json& run) const {
  run.set("text", std::filesystem::absolute(options_.text).string());
}

Json TextRun::architecture() const { return model_->config().to_json(); }

Json TextRun::architecture_in(const std::filesystem::path& folder) const {
  return nn::Gpt2Config::from_file(folder / "config.json").to_json();
}

}  // namespace tare::train
