// SPDX-License-Identifier: Apache-2.0
// What the sub-commands' reports share.
#include <ctime>
#include <iostream>

#include "tare/core/error.h"
#include "tare/core/file_writer.h"
#include "tare/core/isa.h"
#include "tare/core/machine.h"
#include "tare/core/parallel.h"
#include "tare/core/version.h"
#include "tare/data/byte_reader.h"
#include "tare/kernels/libraries.h"
#include "tare/tools/commands.h"

namespace tare::tools {

void write_json(const std::string& file, const Json& json) {
  if (file.empty()) return;
  if (file == "-")
    std::cout << json.dump(2) << std::endl;
  else
    write_file(file, json.dump(2) + "\n");
}

Json describe_machine() {
  const Machine m = this_machine();
  Json libraries = Json::object();
  for (const auto& library : kernels::libraries()) libraries.set(library.name, library.version);
  libraries.set("zlib", data::version_of_zlib());
  return Json::object({
      {"cpu", m.cpu},
      {"cores", m.cores},
      {"threads", num_threads()},
      {"memory_bytes", m.memory_bytes},
      {"l2_bytes", m.l2_bytes},
      {"l3_bytes", m.l3_bytes},
      {"huge_pages", m.huge_pages},
      {"os", m.os},
      {"isa", std::string(name_of(active_isa()))},
      {"best_isa", std::string(name_of(best_isa()))},
      {"tare", version()},
      {"compiler", __VERSION__},
      {"libraries", libraries},
  });
}

static std::string& command_line() {
  static std::string text;
  return text;
}

void remember_command(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) command_line() += std::string(" ") + argv[i];
}

void stamp(Json& report) {
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  report.set("machine", describe_machine());
  report.set("command", "tare" + command_line());
  report.set("date", date);
}

int64_t start_rss_bytes() {
  static const int64_t bytes = rss_bytes();  // main calls this first
  return bytes;
}

void apply_threads(int threads) {
  TARE_CHECK(threads >= 0, "--threads ", threads, ": expected 1 or more, or 0 for the default");
  if (threads > 0) set_num_threads(threads);
}

}  // namespace tare::tools
