// SPDX-License-Identifier: Apache-2.0
#include "tare/tools/run_options.h"

#include <charconv>
#include <type_traits>

#include "tare/data/default_text.h"

namespace tare::tools {

void add_run_options(CLI::App& command, train::RunOptions& run) {
  command.add_option("--text", run.text, "File or folder to train on (default: Tare's own sources and docs)");
  command
      .add_option("--model", run.model,
                  "Preset (gpt2, gpt2-medium, demo, small), or a folder whose weights to start from")
      ->capture_default_str();
  command.add_option("--steps", run.steps, "Updates")->capture_default_str();
  command.add_option("--batch", run.batch, "Sequences per update")->capture_default_str();
  command.add_option("--seq", run.seq, "Tokens per sequence")->capture_default_str();
  command.add_option("--schedule", run.schedule, "constant, linear or cosine, down to 0")
      ->capture_default_str();
  command.add_option("--warmup", run.warmup, "Updates of linear warm-up")->capture_default_str();
  command.add_option("--clip", run.clip, "Greatest global norm of the gradients; 0 does not clip")
      ->capture_default_str();
  command.add_option("--dropout", run.dropout, "Probability to drop, everywhere the model has dropout")
      ->capture_default_str();
  command.add_option("--seed", run.seed, "Of weights, data order and dropout")->capture_default_str();
}

void append_run_options(std::vector<std::string>& words, const train::RunOptions& run) {
  const auto add = [&words](const char* option, const auto& value) {
    words.push_back(option);
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
      words.push_back(Json(value).dump());  // every digit
    else
      words.push_back(detail::concat(value));
  };
  add("--text", run.text);
  add("--model", run.model);
  add("--steps", run.steps);
  add("--batch", run.batch);
  add("--seq", run.seq);
  add("--schedule", run.schedule);
  add("--warmup", run.warmup);
  add("--clip", run.clip);
  add("--dropout", run.dropout);
  add("--seed", run.seed);
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
