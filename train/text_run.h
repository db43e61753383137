// SPDX-License-Identifier: Apache-2.0
// Training a language model on a text, one update at a time: what `tare train` and the benchmarks run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tare/core/json.h"
#include "tare/data/text_loader.h"
#include "tare/nn/models/gpt2.h"
#include "tare/optim/optimizer.h"

namespace tare::train {

struct TextRunOptions {
  std::string text;                 // file or folder
  std::string model = "demo";       // preset, or a folder whose weights the run starts from
  std::string optimizer = "adamw";  // as text: "adamw:lr=1e-3,beta2=0.95"
  std::string schedule = "cosine";  // constant, linear or cosine, down to 0
  int64_t steps = 1000;             // updates
  int64_t batch = 16;               // sequences per update
  int64_t seq = 128;                // tokens per sequence
  int64_t warmup = 0;               // updates of linear warm-up
  double clip = 0;                  // greatest global gradient norm; 0 does not clip
  double dropout = 0;
  uint64_t seed = 1337;
};

struct StepResult {
  int64_t step = 0;  // updates done, this one included
  double loss = 0;   // nats per token, mean over the batch
  double grad_norm = 0;
  double learning_rate = 0;
  double seconds = 0;  // the whole step: data, forward, backward, update
  double forward_seconds = 0, backward_seconds = 0, update_seconds = 0;
  int64_t tokens = 0;
};

struct Evaluation {
  double loss = 0;  // nats per token, over all tokens of the windows
  int64_t tokens = 0;
  int64_t windows = 0;
  int64_t windows_available = 0;
};

// Model, optimizer, schedule and data of one run.
class TextRun {
 public:
  // Error that names the option and what was wrong with it, before the model is made. With a checkpoint, the
  // model has the checkpoint's architecture, whatever options.model says, and awaits resume().
  explicit TextRun(const TextRunOptions& options, const std::filesystem::path& checkpoint = {});
  ~TextRun();

  StepResult step();
  int64_t steps_done() const { return optimizer_->updates(); }
  bool done() const { return steps_done() >= options_.steps; }

  // The mean loss over `windows` of the held-out tenth, spread evenly; 0 is all of them. go_on(done, of) is
  // asked now and then; false ends the evaluation early: what it says then is of the windows that were done.
  Evaluation evaluate(int64_t windows, const std::function<bool(int64_t done, int64_t of)>& go_on = {});

  // A checkpoint folder: the model as save_pretrained writes it, optimizer.safetensors and
  // trainer_state.json. What stood at `dir` is replaced in one exchange.
  void save(const std::filesystem::path& dir);
  // Goes on where save() was called. Error that names the field when the text, the model or an option that
  // the result depends on differs. Returns warnings on what may change the last bits: instruction set,
  // threads.
  std::vector<std::string> resume(const std::filesystem::path& dir);
  // The options that a checkpoint was made with.
  static TextRunOptions options_of(const std::filesystem::path& dir);

  const TextRunOptions& options() const { return options_; }
  const data::TextDataset& text() const { return *text_; }
  nn::Gpt2& model() { return *model_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  Json describe() const;  // options, text, model

 private:
  TextRunOptions options_;
  std::unique_ptr<data::TextDataset> text_;
  std::string text_hash_;
  std::unique_ptr<nn::Gpt2> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<data::TextLoader> loader_;
};

}  // namespace tare::train
