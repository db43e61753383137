// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

namespace tare::test {
namespace {

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list.items()) out.push_back(item.as_string());
  return out;
}

std::map<std::string, std::vector<GoldenCase>> read_cases() {
  const Golden file("ops/ops");
  std::map<std::string, std::vector<GoldenCase>> cases;
  const Json listing = Json::parse_file(golden_path("ops/ops.json"));
  for (const Json& item : listing.at("cases").items()) {
    GoldenCase c{item.at("op").as_string(), item.at("case").as_string(), {}, texts(item.at("inputs")),
                 texts(item.at("outputs")), texts(item.at("grads")),     {}};
    if (const Json* attributes = item.find("attributes")) c.attributes = *attributes;
    std::vector<std::string> roles = {"dy"};
    for (const auto* some : {&c.inputs, &c.outputs, &c.grads})
      roles.insert(roles.end(), some->begin(), some->end());
    for (const std::string& role : roles) {
      const std::string name = c.op + "." + c.name + "." + role;
      if (role != "dy" || file.contains(name)) c.tensors.emplace(role, file.tensor(name));
    }
    cases[c.op].push_back(std::move(c));
  }
  return cases;
}

}  // namespace

const std::map<std::string, std::vector<GoldenCase>>& golden_cases() {
  static const auto cases = read_cases();
  return cases;
}

}  // namespace tare::test
