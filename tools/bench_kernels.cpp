// SPDX-License-Identifier: Apache-2.0
// tare bench kernels: each kernel at the shapes of gpt2, against the roofs of this machine.
#include <cstdio>
#include <memory>

#include "tare/bench/kernels.h"
#include "tare/tools/bench_commands.h"

namespace tare::tools {
namespace {

struct KernelsOptions {
  std::string filter;
  std::string json;
  int threads = 0;
};

void print_row(const bench::KernelRow& row) {
  std::printf("%-44s %10.4f ms %5.0f %% %9.1f GB/s %9.1f GFLOP/s   %5.1f %% of the %s roof\n",
              row.name.c_str(), row.milliseconds, 100 * row.scatter, row.gbps, row.gflops,
              row.percent_of_roof(), row.memory_bound ? "memory" : "arithmetic");
  std::fflush(stdout);
}

Json row_json(const bench::KernelRow& row) {
  return Json::object({{"name", row.name},
                       {"ms", row.milliseconds},
                       {"scatter", row.scatter},
                       {"gbps", row.gbps},
                       {"gflops", row.gflops},
                       {"flops", row.flops},
                       {"bytes", row.bytes},
                       {"bound", row.memory_bound ? "memory" : "arithmetic"},
                       {"percent_of_roof", row.percent_of_roof()}});
}

void run(const KernelsOptions& options) {
  apply_threads(options.threads);
  const bool quiet = options.json == "-";
  Json report = Json::object({});
  stamp(report);
  bench::check_kernel_filter(options.filter);
  const bench::KernelRoofs roofs = bench::measure_kernel_roofs();
  report.set("roofs", Json::object({{"gbps", roofs.gbps}, {"gflops", roofs.gflops}}));
  if (!quiet)
    std::printf(
        "roofs: memory %.1f GB/s (read-modify-write streams), arithmetic %.1f GFLOP/s (f32 multiply-add)\n"
        "median of cold calls, spread (max - min) / median, achieved rates\n",
        roofs.gbps, roofs.gflops);
  Json rows = Json::array();
  const auto kernels = bench::run_kernels(options.filter, roofs, [&](const bench::KernelRow& row) {
    if (!quiet) print_row(row);
  });
  for (const auto& row : kernels) rows.push_back(row_json(row));
  report.set("rows", rows);
  write_json(options.json, report);
}

}  // namespace

void add_bench_kernels(CLI::App& bench) {
  auto options = std::make_shared<KernelsOptions>();
  CLI::App* kernels =
      bench.add_subcommand("kernels", "Each kernel at the shapes of gpt2, against this machine's roofs");
  kernels->add_option("--filter", options->filter,
                      "Only kernels whose name contains this regular expression");
  kernels->add_option("--json", options->json, "Also write everything as JSON to this file (- is stdout)");
  kernels->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  kernels->callback([options] { run(*options); });
}

}  // namespace tare::tools
