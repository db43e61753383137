// SPDX-License-Identifier: Apache-2.0
// Which run a model's task takes.
#include "tare/train/run.h"
#include "tare/train/text_run.h"
#include "tare/train/vit_run.h"

namespace tare::train {
namespace {

// Of a preset, or of a folder by what its config.json says. A name that nobody knows is a text model's, whose
// list of presets then stands in the error.
bool is_image_model(const RunOptions& options, const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = model_folder(options, checkpoint);
  if (folder.empty()) return options.model.starts_with("vit-");
  const Json config = Json::parse_file(folder / "config.json");
  const Json* type = config.find("model_type");
  return type && type->is_string() && type->as_string() == "vit";
}

}  // namespace

std::filesystem::path model_folder(const RunOptions& options, const std::filesystem::path& checkpoint) {
  if (!checkpoint.empty()) return checkpoint;
  return std::filesystem::is_directory(options.model) ? options.model : "";
}

std::string task_of(const RunOptions& options, const std::filesystem::path& checkpoint) {
  std::string task = is_image_model(options, checkpoint) ? "images" : "text";
  TARE_CHECK(options.task.empty() || options.task == "text" || options.task == "images", "task ",
             options.task, ": expected text or images");
  TARE_CHECK(options.task.empty() || options.task == task, "task ", options.task, ": model ", options.model,
             " is of task ", task);
  return task;
}

std::unique_ptr<Run> make_run(const RunOptions& options, const std::filesystem::path& checkpoint) {
  if (task_of(options, checkpoint) == "images") return std::make_unique<VitRun>(options, checkpoint);
  return std::make_unique<TextRun>(options, checkpoint);
}

}  // namespace tare::train
