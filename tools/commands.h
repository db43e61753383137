// SPDX-License-Identifier: Apache-2.0
// The sub-commands of `tare`. Each add_...() declares its options and what runs when it is chosen.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "tare/core/json.h"

namespace tare::tools {

// `status` becomes the exit status: 128 + signal when a run was interrupted.
void add_train(CLI::App& app, int& status);
void add_generate(CLI::App& app);
void add_bench(CLI::App& app);
void add_info(CLI::App& app);
void add_optim(CLI::App& app);

// Writes to `file`, "-" being stdout; "" writes nothing. Error when the file cannot be written whole.
void write_json(const std::string& file, const Json& json);
// This machine, build and libraries.
Json describe_machine();
// What every report says of itself: machine, command line as main was given it, and the date in UTC.
void stamp(Json& report);
void remember_command(int argc, char** argv);
// The RSS of this process when main began, bytes.
int64_t start_rss_bytes();
// --threads: 0 leaves the default.
void apply_threads(int threads);

}  // namespace tare::tools
