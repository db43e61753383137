// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/trace.h"

#include "tare/core/file_writer.h"
#include "tare/core/json.h"

namespace tare::bench {

void write_trace(const std::string& file, const std::vector<kernels::KernelEvent>& events) {
  Json list = Json::array();
  for (const kernels::KernelEvent& e : events) {
    Json args = Json::object({{"path", e.path}, {"flops", e.cost.flops}, {"bytes", e.cost.bytes}});
    if (e.seconds > 0) {
      args.set("gflops", e.cost.flops / e.seconds * 1e-9);
      args.set("gbps", e.cost.bytes / e.seconds * 1e-9);
    }
    list.push_back(Json::object({{"name", e.name},
                                 {"cat", "kernel"},
                                 {"ph", "X"},
                                 {"ts", e.start * 1e6},
                                 {"dur", e.seconds * 1e6},
                                 {"pid", 1},
                                 {"tid", 1},
                                 {"args", args}}));
  }
  write_file(file, Json::object({{"traceEvents", list}, {"displayTimeUnit", "ms"}}).dump() + "\n");
}

}  // namespace tare::bench
