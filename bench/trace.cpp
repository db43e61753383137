// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/trace.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "tare/core/error.h"

namespace tare::bench {

void write_trace(const std::string& file, const std::vector<kernels::KernelEvent>& events) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const kernels::KernelEvent& e : events) {
    nlohmann::ordered_json args = {{"path", e.path}, {"flops", e.cost.flops}, {"bytes", e.cost.bytes}};
    if (e.seconds > 0) {
      args["gflops"] = e.cost.flops / e.seconds * 1e-9;
      args["gbps"] = e.cost.bytes / e.seconds * 1e-9;
    }
    list.push_back({{"name", e.name},
                    {"cat", "kernel"},
                    {"ph", "X"},
                    {"ts", e.start * 1e6},
                    {"dur", e.seconds * 1e6},
                    {"pid", 1},
                    {"tid", 1},
                    {"args", args}});
  }
  std::ofstream out(file, std::ios::binary);
  out << nlohmann::ordered_json{{"traceEvents", list}, {"displayTimeUnit", "ms"}}.dump() << "\n"
      << std::flush;
  TARE_CHECK(out.good(), "cannot write the trace ", file);
}

}  // namespace tare::bench
