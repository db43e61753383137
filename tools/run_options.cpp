// SPDX-License-Identifier: Apache-2.0
#include "tare/tools/run_options.h"

#include <charconv>
#include <type_traits>

#include "tare/data/default_text.h"

namespace tare::tools {
namespace {

constexpr const char* kImageModel = "vit-tiny";  // of --task images where none is named

}  // namespace

void add_run_options(CLI::App& command, train::RunOptions& run) {
  command.add_option("--task", run.task, "text or images (default: that of the model)");
  command.add_option("--text", run.text, "File or folder to train on (default: Tare's own sources and docs)");
  command.add_option(
      "--data", run.data,
      "Folder of images in IDX files, as MNIST's (default: synthetic images of the model's size)");
  command
      .add_option("--model", run.model,
                  "Preset (gpt2, gpt2-medium, demo, small; of images vit-b16, vit-tiny), or a folder whose "
                  "weights to start from")
      ->capture_default_str();
  command.add_option("--steps", run.steps, "Updates")->capture_default_str();
  command.add_option("--epochs", run.epochs, "Times over the training images, instead of --steps");
  command.add_option("--batch", run.batch, "Sequences or images per update")->capture_default_str();
  command.add_option("--seq", run.seq, "Tokens per sequence")->capture_default_str();
  command.add_option("--augment", run.augment,
                     "shift:N moves each training image by up to N pixels both ways, zeros moving in");
  command.add_option("--schedule", run.schedule, "constant, linear or cosine, down to 0")
      ->capture_default_str();
  command.add_option("--warmup", run.warmup, "Updates of linear warm-up")->capture_default_str();
  command.add_option("--clip", run.clip, "Greatest global norm of the gradients; 0 does not clip")
      ->capture_default_str();
  command.add_option("--dropout", run.dropout, "Probability to drop, everywhere the model has dropout")
      ->capture_default_str();
  command.add_option("--seed", run.seed, "Of weights, data order, shifts and dropout")->capture_default_str();
}

void append_run_options(std::vector<std::string>& words, const train::RunOptions& run) {
  const auto add = [&words](const char* option, const auto& value) {
    words.push_back(option);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      words.push_back(Json(value).dump());  // every digit
    else
      words.push_back(detail::concat(value));
  };
  if (is_of_images(run)) {
    if (!run.data.empty()) add("--data", run.data);
    if (!run.augment.empty()) add("--augment", run.augment);
  } else {
    add("--text", run.text);
    add("--seq", run.seq);
  }
  add("--model", run.model);
  if (run.epochs > 0)
    add("--epochs", run.epochs);
  else
    add("--steps", run.steps);
  add("--batch", run.batch);
  add("--schedule", run.schedule);
  add("--warmup", run.warmup);
  add("--clip", run.clip);
  add("--dropout", run.dropout);
  add("--seed", run.seed);
}

bool is_of_images(const train::RunOptions& run) {
  return (run.task.empty() ? train::task_of(run) : run.task) == "images";
}

bool has_image_folder(const train::RunOptions& run) { return is_of_images(run) && run.data != "synthetic"; }

void resolve_data(const CLI::App& command, train::RunOptions& run, const std::filesystem::path& checkpoint) {
  const auto given = [&](const char* flag) {  // not every command has every option
    const CLI::Option* option = command.get_option_no_throw(flag);
    return option && option->count() > 0;
  };
  if (run.task == "images" && !given("--model") && checkpoint.empty()) run.model = kImageModel;
  run.task = train::task_of(run, checkpoint);
  const auto refuse = [&](const char* flag) {
    TARE_CHECK(!given(flag), flag, ": model ", run.model, " is of task ", run.task,
               ", which has no such option");
  };
  if (is_of_images(run)) {
    refuse("--text");
    refuse("--seq");
    TARE_CHECK(!given("--epochs") || !given("--steps"),
               "--epochs and --steps: one of them says how long to train");
    TARE_CHECK(!given("--epochs") || run.epochs >= 1, "--epochs ", run.epochs, ": expected at least 1");
    if (run.data.empty()) run.data = "synthetic";
  } else {
    refuse("--data");
    refuse("--epochs");
    refuse("--augment");
    resolve_text(run);
  }
}

void resolve_text(train::RunOptions& run) {
  if (run.text.empty()) run.text = data::default_text_path().string();
}

int64_t parse_windows(const std::string& text) {
  if (text == "all") return 0;
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  TARE_CHECK(fault == std::errc() && end == text.data() + text.size() && n >= 1, "--eval-windows ", text,
             ": expected a number of at least 1, or all");
  return n;
}

}  // namespace tare::tools
