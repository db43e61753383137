// SPDX-License-Identifier: Apache-2.0
// The `tare` command: reads the command line and hands over to a sub-command.
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <fcntl.h>

#include "tare/core/version.h"
#include "tare/tools/commands.h"

namespace {

// A closed descriptor would be given to the next file opened, and messages would end up in it.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) < 0) std::abort();
}

// CLI11 brings integers that do not fit to the nearest that do.
std::string whole_number(bool negative_too, const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  int64_t with_sign = 0;
  uint64_t without = 0;
  const auto [rest, fault] =
      negative_too ? std::from_chars(begin, end, with_sign) : std::from_chars(begin, end, without);
  if (fault == std::errc() && rest == end) return "";
  return text + " is no whole number" + (negative_too ? "" : " of at least 0") + " of 64 bits";
}

void check_integers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "INT" || type == "UINT")
      option->check(
          [signed_type = type == "INT"](const std::string& text) { return whole_number(signed_type, text); });
  }
  for (CLI::App* sub : app.get_subcommands({})) check_integers(*sub);
}

// What was printed has arrived, or the exit status says that it has not.
int check_output(int status) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.flush()) return status;
  std::fprintf(stderr, "tare: the output could not be written\n");
  return status == 0 ? 1 : status;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  tare::tools::start_rss_bytes();
  tare::tools::remember_command(argc, argv);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond a size limit is an error like any other
  std::signal(SIGPIPE, SIG_IGN);  // as is one to a pipe that nobody reads
  CLI::App app("Tare: training with every byte accounted for", "tare");
  app.set_version_flag("--version", tare::version());
  app.require_subcommand(1);
  int status = 0;
  tare::tools::add_train(app, status);
  tare::tools::add_generate(app);
  tare::tools::add_bench(app);
  tare::tools::add_info(app);
  tare::tools::add_optim(app);
  check_integers(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return check_output(app.exit(e));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tare: %s\n", e.what());
    return 1;
  }
  return check_output(status);
}
