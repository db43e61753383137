// SPDX-License-Identifier: Apache-2.0
// tare info: build, devices, instruction sets, libraries and the roofs of this machine.
#include <cstdio>
#include <memory>

#include "tare/bench/roof.h"
#include "tare/core/devices.h"
#include "tare/core/machine.h"
#include "tare/data/byte_reader.h"
#include "tare/kernels/libraries.h"
#include "tare/tools/commands.h"
#include "tare/train/progress.h"

namespace tare::tools {
namespace {

struct InfoOptions {
  std::string json;
  int threads = 0;
  bool roofs = true;
};

void print_text(const Json& j, const Machine& m) {
  const auto text = [&j](const char* key) { return j.at(key).as_string(); };
  std::printf("tare        %s\n", text("tare").c_str());
  std::printf("compiler    %s\n", text("compiler").c_str());
  std::printf("cpu         %s, %d cores, %d threads in use\n", m.cpu.c_str(), m.cores,
              int(j.at("threads").as_int()));
  std::printf("isa         %s (best here: %s)\n", text("isa").c_str(), text("best_isa").c_str());
  std::printf("memory      %s, L2 %s per core, L3 %s, huge pages: %s\n",
              train::format_bytes(m.memory_bytes).c_str(), train::format_bytes(m.l2_bytes).c_str(),
              train::format_bytes(m.l3_bytes).c_str(), m.huge_pages.c_str());
  std::printf("devices    ");
  for (const Json& device : j.at("devices").items()) std::printf(" %s", device.as_string().c_str());
  std::printf("%s\n", why_no_cuda().empty() ? "" : ("; no CUDA: " + why_no_cuda()).c_str());
  for (const auto& library : kernels::libraries())
    std::printf("%-11s %s, for %s\n", library.name.c_str(), library.version.c_str(), library.purpose.c_str());
  std::printf("%-11s %s, for gzip files\n", "zlib", data::version_of_zlib().c_str());
  if (!j.find("roofs")) return;
  const Json& r = j.at("roofs");
  std::printf(
      "roofs       read %.1f, copy %.1f, p += a*g %.1f, AdamW's streams %.1f GB/s; f32 multiply-add %.0f "
      "GFLOP/s\n",
      r.at("read_gbps").as_double(), r.at("copy_gbps").as_double(), r.at("sgd_gbps").as_double(),
      r.at("adamw_gbps").as_double(), r.at("fma_gflops").as_double());
}

void run(const InfoOptions& options) {
  apply_threads(options.threads);
  Json j = describe_machine();
  std::vector<Json> devices;
  for (const Device device : available_devices()) devices.push_back(device.str());
  j.set("devices", Json::array(std::move(devices)));
  if (options.roofs) {
    constexpr int64_t kElements = 32 << 20;  // 128 MiB per array: far above any cache
    j.set("roofs", Json::object({{"read_gbps", bench::measure_read(kElements).gbps},
                                 {"copy_gbps", bench::measure_copy(kElements).gbps},
                                 {"sgd_gbps", bench::measure_streams(bench::kSgdStreams, kElements).gbps},
                                 {"adamw_gbps", bench::measure_streams(bench::kAdamWStreams, kElements).gbps},
                                 {"fma_gflops", bench::measure_fma_gflops()}}));
  }
  if (options.json != "-") print_text(j, this_machine());
  write_json(options.json, j);
}

}  // namespace

void add_info(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* info =
      app.add_subcommand("info", "Build, devices, instruction sets, libraries and roofs of this machine");
  info->add_option("--json", options->json, "Also write everything as JSON to this file (- is stdout)");
  info->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  info->add_flag("!--no-roofs", options->roofs, "Do not measure the roofs");
  info->callback([options] { run(*options); });
}

}  // namespace tare::tools
