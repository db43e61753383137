// SPDX-License-Identifier: Apache-2.0
// The options of a training run on the command line, shared by train and the benchmarks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tare/tools/commands.h"
#include "tare/train/run.h"

namespace tare::tools {

// Declares --task, --text, --data, --model, --steps, --epochs, --batch, --seq, --augment, --schedule,
// --warmup, --clip, --dropout and --seed, with the values that `run` has as defaults.
void add_run_options(CLI::App& command, train::RunOptions& run);
// The same options as words of a command line, for a child process.
void append_run_options(std::vector<std::string>& words, const train::RunOptions& run);
// Finds the task, and puts the default text, or synthetic images, where no data is named. Error on options
// that were given and are not of the task.
void resolve_data(const CLI::App& command, train::RunOptions& run,
                  const std::filesystem::path& checkpoint = {});
// Puts the default text where none is named: for commands that take texts alone.
void resolve_text(train::RunOptions& run);
bool is_of_images(const train::RunOptions& run);
bool has_image_folder(const train::RunOptions& run);  // not synthetic ones
// "all" is 0; Error on what is no number of at least 1.
int64_t parse_windows(const std::string& text);

}  // namespace tare::tools
