// SPDX-License-Identifier: Apache-2.0
// The `tare` command: reads the command line and hands over to a sub-command.
#include <csignal>
#include <cstdio>
#include <exception>

#include "tare/core/version.h"
#include "tare/tools/commands.h"

int main(int argc, char** argv) {
  tare::tools::start_rss_bytes();
  tare::tools::remember_command(argc, argv);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a size limit is an error like any other
  CLI::App app("Tare: training with every byte accounted for", "tare");
  app.set_version_flag("--version", tare::version());
  app.require_subcommand(1);
  int status = 0;
  tare::tools::add_train(app, status);
  tare::tools::add_generate(app);
  tare::tools::add_bench(app);
  tare::tools::add_info(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tare: %s\n", e.what());
    return 1;
  }
  return status;
}
