// SPDX-License-Identifier: Apache-2.0
// The `tare` command: reads the command line and hands over to a sub-command.
#include <CLI/CLI.hpp>

#include "tare/core/version.h"

int main(int argc, char** argv) {
  CLI::App app("Tare: training with every byte accounted for", "tare");
  app.set_version_flag("--version", tare::version());
  CLI11_PARSE(app, argc, argv);
  return 0;
}
