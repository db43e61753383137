// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/peers.h"

#include "tare/core/error.h"

namespace tare::bench {
namespace {

constexpr const char* kKind = "tare bench peers";
constexpr int64_t kVersion = 1;

PeerRow row_of(const Json& j) {
  PeerRow row;
  row.name = j.at("name").as_string();
  row.library = j.at("library").as_string();
  row.ms = j.at("ms").as_double();
  row.scatter = j.at("scatter").as_double();
  if (const Json* against = j.find("against")) {
    row.against = against->as_string();
    row.ratio = j.at("ratio").as_double();
  }
  if (const Json* percent = j.find("percent_of_roof")) row.percent_of_roof = percent->as_double();
  if (const Json* bytes = j.find("rss_peak_bytes")) row.rss_peak_bytes = bytes->as_int();
  return row;
}

}  // namespace

Peers peers_of(const Json& json, const std::string& source) {
  const Json* kind = json.is_object() ? json.find("report") : nullptr;
  TARE_CHECK(kind && kind->is_string() && kind->as_string() == kKind, source,
             ": not what bench/peers/run writes");
  TARE_CHECK(json.at("version").as_int() == kVersion, source, ": version ", json.at("version").as_int(),
             "; this program reads version ", kVersion);
  Peers peers{
      json.at("machine"), json.at("run"), json.at("command").as_string(), json.at("date").as_string(), {}};
  for (const Json& group : json.at("groups").items()) {
    peers.groups.push_back({group.at("title").as_string(), {}});
    for (const Json& row : group.at("rows").items()) peers.groups.back().rows.push_back(row_of(row));
  }
  return peers;
}

}  // namespace tare::bench
