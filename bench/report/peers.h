// SPDX-License-Identifier: Apache-2.0
// The measurements of other libraries that bench/peers/run makes, for a report page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tare/core/json.h"

namespace tare::bench {

struct PeerRow {
  std::string name;            // "PyTorch, compiled"
  std::string library;         // with its version
  double ms = 0, scatter = 0;  // median; (max - min) / median
  std::string against = {};    // the row it is compared with; "" for that one itself
  double ratio = 0;            // its time over that row's
  double percent_of_roof = 0;  // 0 when there is none
  int64_t rss_peak_bytes = 0;  // above start-up; 0 when it was not measured
};

struct PeerGroup {
  std::string title;  // "A training step"
  std::vector<PeerRow> rows;
};

struct Peers {
  Json machine, run;
  std::string command, date;
  std::vector<PeerGroup> groups;
};

// Error that says so when `json` is no such file.
Peers peers_of(const Json& json, const std::string& source);

}  // namespace tare::bench
