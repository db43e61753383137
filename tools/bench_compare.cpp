// SPDX-License-Identifier: Apache-2.0
// tare bench compare and tare bench page: what is done with reports that were written before.
#include <cstdio>
#include <memory>

#include "tare/bench/compare.h"
#include "tare/bench/report/page.h"
#include "tare/core/file_writer.h"
#include "tare/tools/bench_commands.h"

namespace tare::tools {
namespace {

bench::OptimizersReport read_report(const std::string& file) {
  return bench::optimizers_report_of(Json::parse_file(file), file);
}

struct CompareCommand {
  std::string a, b, json;
};

void run(const CompareCommand& command) {
  const bench::Comparison comparison = bench::compare(read_report(command.a), read_report(command.b));
  if (command.json != "-")
    std::printf("A: %s\nB: %s\n\n%s", command.a.c_str(), command.b.c_str(),
                bench::text_of(comparison).c_str());
  Json report = to_json(comparison);
  report.set("files", Json::object({{"a", command.a}, {"b", command.b}}));
  write_json(command.json, report);
}

struct PageCommand {
  std::string file, peers, page;
};

void run(const PageCommand& command) {
  std::optional<bench::Peers> peers;
  if (!command.peers.empty()) peers = bench::peers_of(Json::parse_file(command.peers), command.peers);
  write_file(command.page, bench::report_page(read_report(command.file), peers));
}

}  // namespace

void add_bench_compare(CLI::App& bench) {
  auto options = std::make_shared<CompareCommand>();
  CLI::App* command = bench.add_subcommand(
      "compare",
      "Two reports of bench optimizers side by side: ratios, and whether they differ by more than chance");
  command->add_option("A", options->a, "A file that bench optimizers --json wrote")->required();
  command->add_option("B", options->b, "Another")->required();
  command->add_option("--json", options->json, "Also write everything as JSON to this file (- is stdout)");
  command->callback([options] { run(*options); });
}

void add_bench_page(CLI::App& bench) {
  auto options = std::make_shared<PageCommand>();
  CLI::App* command =
      bench.add_subcommand("page", "The page of bench optimizers --report, from a report written before");
  command->add_option("REPORT", options->file, "A file that bench optimizers --json wrote")->required();
  command->add_option("PAGE", options->page, "The page to write (HTML)")->required();
  command->add_option("--peers", options->peers, "What bench/peers/run measured of other libraries (JSON)");
  command->callback([options] { run(*options); });
}

}  // namespace tare::tools
