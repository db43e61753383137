// SPDX-License-Identifier: Apache-2.0
// The options of a training run on the command line, shared by train and the benchmarks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tare/tools/commands.h"
#include "tare/train/run.h"

namespace tare::tools {

// Declares --text, --model, --steps, --batch, --seq, --schedule, --warmup, --clip, --dropout and --seed, with
// the values that `run` has as defaults.
void add_run_options(CLI::App& command, train::RunOptions& run);
// The same options as words of a command line, for a child process.
void append_run_options(std::vector<std::string>& words, const train::RunOptions& run);
// Puts the default text where none is named.
void resolve_text(train::RunOptions& run);
// "all" is 0; Error on what is no number of at least 1.
int64_t parse_windows(const std::string& text);

}  // namespace tare::tools
