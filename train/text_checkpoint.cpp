// SPDX-License-Identifier: Apache-2.0
// Saving a text run and going on with it.
#include "tare/core/checkpoint_dir.h"
#include "tare/core/file_writer.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/core/safetensors.h"
#include "tare/core/version.h"
#include "tare/train/text_run.h"

namespace tare::train {
namespace {

constexpr const char* kStateFile = "trainer_state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr int64_t kFormat = 1;

// What a resumed run must share with the one that was saved, or it would be another run.
constexpr const char* kFixed[] = {"text_hash", "parameters", "optimizer", "schedule", "steps", "batch",
                                  "seq",       "warmup",     "clip",      "dropout",  "seed"};

Json read_state(const std::filesystem::path& folder) {
  Json state = Json::parse_file(folder / kStateFile);
  TARE_CHECK(state.at("format").as_int() == kFormat, folder, ": checkpoint format ",
             state.at("format").as_int(), ", this Tare reads ", kFormat);
  return state;
}

}  // namespace

void TextRun::save(const std::filesystem::path& dir) {
  Json run = describe();
  run.set("text", std::filesystem::absolute(options_.text).string());  // found from any working folder
  Json state = Json::object({{"format", kFormat},
                             {"tare", version()},
                             {"global_step", steps_done()},
                             {"windows_drawn", steps_done() * options_.batch},
                             {"isa", std::string(name_of(active_isa()))},
                             {"threads", num_threads()},
                             {"run", run}});
  write_checkpoint(dir, [&](const std::filesystem::path& folder) {
    model_->save_pretrained(folder);
    save_safetensors(folder / kOptimizerFile, optimizer_->state(), optimizer_->metadata());
    write_file(folder / kStateFile, state.dump(2) + "\n");
  });
}

TextRunOptions TextRun::options_of(const std::filesystem::path& dir) {
  const Json state = read_state(resolve_checkpoint(dir));
  const Json& run = state.at("run");
  TextRunOptions o;
  o.text = run.at("text").as_string();
  o.model = run.at("model").as_string();
  o.optimizer = run.at("optimizer").as_string();
  o.schedule = run.at("schedule").as_string();
  o.steps = run.at("steps").as_int();
  o.batch = run.at("batch").as_int();
  o.seq = run.at("seq").as_int();
  o.warmup = run.at("warmup").as_int();
  o.clip = run.at("clip").as_double();
  o.dropout = run.at("dropout").as_double();
  o.seed = run.at("seed").as_uint();
  return o;
}

std::vector<std::string> TextRun::resume(const std::filesystem::path& dir) {
  const std::filesystem::path folder = resolve_checkpoint(dir);
  verify_checkpoint(folder);
  const Json state = read_state(folder);
  const Json mine = describe(), &saved = state.at("run");
  for (const char* field : kFixed)
    TARE_CHECK(saved.at(field) == mine.at(field), "resume ", dir, ": ", field, " was ",
               saved.at(field).dump(), ", this run has ", mine.at(field).dump());

  const auto config = nn::Gpt2Config::from_file(folder / "config.json");
  TARE_CHECK(config == model_->config(), "resume ", dir, ": model was ", config.to_json().dump(),
             ", this run has ", model_->config().to_json().dump());

  const SafetensorsFile optimizer(folder / kOptimizerFile);
  optim::NamedTensors tensors;
  for (const SafetensorsEntry& entry : optimizer.entries())
    tensors.emplace_back(entry.name, optimizer.tensor(entry.name));
  model_->load_pretrained(folder);
  optimizer_->load(tensors, optimizer.metadata());
  TARE_CHECK(steps_done() == state.at("global_step").as_int(), "resume ", dir, ": the optimizer made ",
             steps_done(), " updates, the run ", state.at("global_step").as_int());
  loader_ = std::make_unique<data::TextLoader>(*text_, options_.batch, options_.seq, options_.seed,
                                               state.at("windows_drawn").as_int());
  TARE_CHECK(state.at("windows_drawn").as_int() == steps_done() * options_.batch, "resume ", dir,
             ": windows_drawn is ", state.at("windows_drawn").as_int(), " after ", steps_done(),
             " updates of ", options_.batch);
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

}  // namespace tare::train
