// SPDX-License-Identifier: Apache-2.0
// A training run of any task, one update at a time: what `tare train` and the benchmarks run. A task supplies
// the model, the batches and the evaluation; stepping, timing, saving and resuming stand here once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tare/autograd/var.h"
#include "tare/core/json.h"
#include "tare/nn/module.h"
#include "tare/optim/convert.h"
#include "tare/optim/optimizer.h"

namespace tare::train {

struct RunOptions {
  std::string task;                 // text or images; "": that of the model
  std::string model = "demo";       // preset, or a folder whose weights the run starts from
  std::string optimizer = "adamw";  // as text: "adamw:lr=1e-3,beta2=0.95"
  std::string schedule = "cosine";  // constant, linear or cosine, down to 0
  int64_t steps = 1000;             // updates
  int64_t batch = 16;               // samples per update
  int64_t warmup = 0;               // updates of linear warm-up
  double clip = 0;                  // greatest global gradient norm; 0 does not clip
  double dropout = 0;
  uint64_t seed = 1337;

  // Of texts alone.
  std::string text;   // file or folder
  int64_t seq = 128;  // tokens per sequence

  // Of images alone.
  std::string data;     // folder; "" or "synthetic": images made for the model
  int64_t epochs = 0;   // over the training images, which give the steps; 0: as many steps as said above
  std::string augment;  // "shift:2"
};

struct StepResult {
  int64_t step = 0;                // updates done, this one included
  double loss = 0;                 // nats, mean over the batch
  std::optional<double> accuracy;  // share of the batch that was right, of tasks that have it
  double grad_norm = 0;
  double learning_rate = 0;
  double seconds = 0;  // the whole step: data, forward, backward, update
  double forward_seconds = 0, backward_seconds = 0, update_seconds = 0;
  int64_t items = 0;  // what is counted in TaskWords::items
};

struct Evaluation {
  double loss = 0;                 // nats, mean over the items
  std::optional<double> accuracy;  // share of the items that were right, of tasks that have it
  int64_t items = 0;
  int64_t samples = 0;
  int64_t samples_available = 0;
};

// How a task calls its things, in lines and in names of JSON fields.
struct TaskWords {
  const char* task;     // "text"
  const char* samples;  // what a batch consists of: "windows"
  const char* items;    // what losses are means of and speed is told in: "tokens"
  const char* unit;     // of the loss: "nats per byte"
};

// What a model's parameters are to an optimizer: matrices decay, tables of embeddings are known as such. In
// the order of Module::parameter_groups().
std::vector<optim::ParamGroup> param_groups(nn::Module& model);

class Run {
 public:
  virtual ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  StepResult step();
  int64_t steps_done() const { return optimizer_->updates(); }
  bool done() const { return steps_done() >= options_.steps; }

  // Asked now and then as (done, of); false ends an evaluation early.
  using GoOn = std::function<bool(int64_t done, int64_t of)>;
  // The mean loss over `samples` of the held-out part, spread evenly; 0 is all of them. What an evaluation
  // that ended early says is of the samples that were done.
  virtual Evaluation evaluate(int64_t samples, const GoOn& go_on = {}) = 0;

  // A checkpoint folder: the model as save_pretrained writes it, optimizer.safetensors and
  // trainer_state.json. What stood at `dir` is replaced in one exchange.
  void save(const std::filesystem::path& dir);
  // Goes on where save() was called. Error that names the field when the data, the model or an option that
  // the result depends on differs. Returns warnings on what may change the last bits: instruction set,
  // threads.
  std::vector<std::string> resume(const std::filesystem::path& dir);
  // The options that a checkpoint was made with.
  static RunOptions options_of(const std::filesystem::path& dir);

  const RunOptions& options() const { return options_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  nn::Module& model() { return *model_; }
  virtual const TaskWords& words() const = 0;
  virtual int64_t items_per_step() const = 0;
  Json describe() const;  // options, data, model

 protected:
  struct Forward {
    Var loss;  // scalar: the mean over the batch
    std::optional<double> accuracy;
  };

  // A task's constructor then calls check_options(), as soon as options_.steps is right, makes its model, and
  // ends with optimize().
  explicit Run(const RunOptions& options) : options_(options) {}
  void check_options() const;  // those of all tasks; Error that names the option and what is wrong with it
  void optimize(nn::Module& model);

  virtual void next_batch() = 0;  // the one that forward() is of
  virtual Forward forward() = 0;
  virtual void seek(int64_t step) = 0;  // next_batch() gives that step's from here on
  virtual Json describe_data() const = 0;
  // Fields of describe_data() that a resumed run must share with the one that was saved.
  virtual std::vector<const char*> fixed_fields() const = 0;
  // What stands in the data's place in a checkpoint, where it must be found from any working folder.
  virtual void make_paths_absolute(Json& run) const = 0;
  virtual void save_model(const std::filesystem::path& folder) = 0;
  virtual void load_model(const std::filesystem::path& folder) = 0;
  virtual Json architecture() const = 0;  // of the model, and of one that was saved
  virtual Json architecture_in(const std::filesystem::path& folder) const = 0;

  RunOptions options_;

 private:
  nn::Module* model_ = nullptr;  // the task's
  std::unique_ptr<optim::Optimizer> optimizer_;
};

// How a checkpoint is turned into one with another optimizer.
struct Conversion {
  std::filesystem::path from, to;
  std::string optimizer;          // as text
  std::filesystem::path weights;  // a model's folder; "": those of `from`
  // The states for the optimizer `to`, from those in the checkpoint.
  std::function<optim::SavedStates(const optim::SavedStates& saved, const optim::Optimizer& to)> states;
};

struct Converted {
  int64_t updates = 0, steps = 0;  // done, and of the whole run
  int64_t state_bytes = 0;
};

// Writes the checkpoint `from` at `to` with that optimizer. The data are not read. The run goes on after as
// many updates as the states have had, and draws the samples that follow so many batches. Error, before
// anything is written, when they are more than the run's steps, or weights or states do not fit the model.
Converted convert_checkpoint(const Conversion& conversion);

// Where the model's config.json is read: the checkpoint, the folder that options.model names, or "" for a
// preset.
std::filesystem::path model_folder(const RunOptions& options, const std::filesystem::path& checkpoint);

// "text" or "images": the task of options.model, a preset or a folder, or of the checkpoint's model. Error
// when options.task is another.
std::string task_of(const RunOptions& options, const std::filesystem::path& checkpoint = {});

// The run of that task. Error that names the option and what was wrong with it, before the model is made.
// With a checkpoint, the model has the checkpoint's architecture, whatever options.model says, and awaits
// resume().
std::unique_ptr<Run> make_run(const RunOptions& options, const std::filesystem::path& checkpoint = {});

}  // namespace tare::train
