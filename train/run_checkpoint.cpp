// SPDX-License-Identifier: Apache-2.0
// Saving a run, going on with it, and giving a saved one another optimizer.
#include "tare/core/checkpoint_dir.h"
#include "tare/core/file_writer.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/core/safetensors.h"
#include "tare/core/version.h"
#include "tare/nn/models/gpt2.h"
#include "tare/nn/models/vit.h"
#include "tare/optim/factory.h"
#include "tare/train/run.h"

namespace tare::train {
namespace {

constexpr const char* kStateFile = "trainer_state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr int64_t kFormat = 1;

// What a resumed run of any task must share with the one that was saved, or it would be another run.
constexpr const char* kFixed[] = {"parameters", "optimizer", "schedule", "steps", "batch",
                                  "warmup",     "clip",      "dropout",  "seed"};

std::string drawn_field(const TaskWords& words) { return std::string(words.samples) + "_drawn"; }

// Checkpoints of format 1 that do not say are of texts.
std::string task_of(const Json& run) {
  const Json* task = run.find("task");
  return task ? task->as_string() : "text";
}

Json read_state(const std::filesystem::path& folder) {
  Json state = Json::parse_file(folder / kStateFile);
  TARE_CHECK(state.at("format").as_int() == kFormat, folder, ": checkpoint format ",
             state.at("format").as_int(), ", this Tare reads ", kFormat);
  return state;
}

optim::SavedStates read_optimizer(const std::filesystem::path& folder) {
  const SafetensorsFile file(folder / kOptimizerFile);
  optim::SavedStates saved{{}, file.metadata()};
  for (const SafetensorsEntry& entry : file.entries())
    saved.state.emplace_back(entry.name, file.tensor(entry.name));
  return saved;
}

struct SavedModel {
  std::shared_ptr<nn::Module> module;
  std::function<void(const std::filesystem::path& folder)> save;
};

template <class Model>
SavedModel read_model(const std::filesystem::path& folder, const std::filesystem::path& weights) {
  const std::shared_ptr<Model> model = Model::from_pretrained(folder);
  if (!weights.empty()) model->load_pretrained(weights);
  return {model, [model](const std::filesystem::path& to) { model->save_pretrained(to); }};
}

}  // namespace

void Run::save(const std::filesystem::path& dir) {
  Json run = describe();
  make_paths_absolute(run);
  Json state = Json::object({{"format", kFormat},
                             {"tare", version()},
                             {"global_step", steps_done()},
                             {drawn_field(words()), steps_done() * options_.batch},
                             {"isa", std::string(name_of(active_isa()))},
                             {"threads", num_threads()},
                             {"run", run}});
  write_checkpoint(dir, [&](const std::filesystem::path& folder) {
    save_model(folder);
    save_safetensors(folder / kOptimizerFile, optimizer_->state(), optimizer_->metadata());
    write_file(folder / kStateFile, state.dump(2) + "\n");
  });
}

RunOptions Run::options_of(const std::filesystem::path& dir) {
  const Json state = read_state(resolve_checkpoint(dir));
  const Json& run = state.at("run");
  RunOptions o;
  o.task = task_of(run);
  o.model = run.at("model").as_string();
  o.optimizer = run.at("optimizer").as_string();
  o.schedule = run.at("schedule").as_string();
  o.steps = run.at("steps").as_int();
  o.batch = run.at("batch").as_int();
  o.warmup = run.at("warmup").as_int();
  o.clip = run.at("clip").as_double();
  o.dropout = run.at("dropout").as_double();
  o.seed = run.at("seed").as_uint();
  if (o.task == "text") {
    o.text = run.at("text").as_string();
    o.seq = run.at("seq").as_int();
  } else {
    o.data = run.at("data").as_string();
    o.epochs = run.at("epochs").as_int();
    o.augment = run.at("augment").as_string();
  }
  return o;
}

std::vector<std::string> Run::resume(const std::filesystem::path& dir) {
  const std::filesystem::path folder = resolve_checkpoint(dir);
  verify_checkpoint(folder);
  const Json state = read_state(folder);
  const Json mine = describe(), &saved = state.at("run");
  TARE_CHECK(task_of(saved) == words().task, "resume ", dir, ": task was ", task_of(saved), ", this run has ",
             words().task);
  std::vector<const char*> fields = fixed_fields();
  fields.insert(fields.end(), std::begin(kFixed), std::end(kFixed));
  for (const char* field : fields)
    TARE_CHECK(saved.at(field) == mine.at(field), "resume ", dir, ": ", field, " was ",
               saved.at(field).dump(), ", this run has ", mine.at(field).dump());
  const Json was = architecture_in(folder), is = architecture();
  TARE_CHECK(was == is, "resume ", dir, ": model was ", was.dump(), ", this run has ", is.dump());

  const optim::SavedStates states = read_optimizer(folder);
  load_model(folder);
  optimizer_->load(states.state, states.metadata);
  TARE_CHECK(steps_done() == state.at("global_step").as_int(), "resume ", dir, ": the optimizer made ",
             steps_done(), " updates, the run ", state.at("global_step").as_int());
  const std::string drawn = drawn_field(words());
  TARE_CHECK(state.at(drawn).as_int() == steps_done() * options_.batch, "resume ", dir, ": ", drawn, " is ",
             state.at(drawn).as_int(), " after ", steps_done(), " updates of ", options_.batch);
  seek(steps_done());
  std::vector<std::string> warnings;
  const auto warn = [&warnings](const char* what, const std::string& was, const std::string& now) {
    if (was != now)
      warnings.push_back(detail::concat("the checkpoint was made with ", what, " ", was, ", this run has ",
                                        now, ": results may differ in the last bits"));
  };
  warn("instruction set", state.at("isa").as_string(), std::string(name_of(active_isa())));
  warn("threads", std::to_string(state.at("threads").as_int()), std::to_string(num_threads()));
  return warnings;
}

Converted convert_checkpoint(const Conversion& c) {
  const std::filesystem::path folder = resolve_checkpoint(c.from);
  verify_checkpoint(folder);
  Json state = read_state(folder);
  Json run = state.at("run");
  const SavedModel model = task_of(run) == "images" ? read_model<nn::Vit>(folder, c.weights)
                                                    : read_model<nn::Gpt2>(folder, c.weights);
  const auto optimizer = optim::make_optimizer(c.optimizer, param_groups(*model.module));
  const optim::SavedStates states = c.states(read_optimizer(folder), *optimizer);
  optimizer->load(states.state, states.metadata);

  const Converted done{optimizer->updates(), run.at("steps").as_int(), optimizer->state_bytes()};
  TARE_CHECK(done.updates <= done.steps, "convert ", c.from, ": states after ", done.updates,
             " updates, but the run ends after ", done.steps);
  run.set("optimizer", c.optimizer);
  const std::string drawn = std::string(task_of(run) == "images" ? "images" : "windows") + "_drawn";
  state.at(drawn);
  state.set(drawn, done.updates * run.at("batch").as_int());
  state.set("global_step", done.updates);
  state.set("tare", version());
  state.set("run", run);
  write_checkpoint(c.to, [&](const std::filesystem::path& to) {
    model.save(to);
    save_safetensors(to / kOptimizerFile, optimizer->state(), optimizer->metadata());
    write_file(to / kStateFile, state.dump(2) + "\n");
  });
  return done;
}

}  // namespace tare::train
