// SPDX-License-Identifier: Apache-2.0
// The files below tests/golden/data, which PyTorch made (tests/golden/README.md), read with the product's own
// readers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tare/core/json.h"
#include "tare/core/safetensors.h"

#include "tests/support/compare.h"

namespace tare::test {

inline std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path(TARE_SOURCE_DIR) / "tests" / "golden" / "data" / name;
}

// One safetensors file: Golden("ops/ops").values("softmax.random.x").
class Golden {
 public:
  explicit Golden(const std::string& name) : file_(golden_path(name + ".safetensors")) {}

  bool contains(const std::string& name) const { return file_.contains(name); }
  Tensor tensor(const std::string& name) const { return file_.tensor(name); }
  Values values(const std::string& name) const { return tensor(name).to_vector<double>(); }
  std::vector<int64_t> integers(const std::string& name) const { return tensor(name).to_vector<int64_t>(); }

 private:
  SafetensorsFile file_;
};

// One case of ops/ops.json with its tensors: role -> tensor.
struct GoldenCase {
  std::string op, name;
  std::map<std::string, Tensor> tensors;
  std::vector<std::string> inputs, outputs, grads;
  Json attributes;

  bool has(const std::string& role) const { return tensors.contains(role); }
  Tensor tensor(const std::string& role) const { return tensors.at(role); }
  Values values(const std::string& role) const { return tensor(role).to_vector<double>(); }
  std::vector<int64_t> integers(const std::string& role) const { return tensor(role).to_vector<int64_t>(); }
  // The shape as plain numbers, for the references.
  std::vector<int64_t> shape(const std::string& role) const {
    const Tensor t = tensor(role);
    return {t.shape().begin(), t.shape().end()};
  }
  bool has_attribute(const std::string& key) const { return attributes.is_object() && attributes.find(key); }
  double number(const std::string& key) const { return attributes.at(key).as_double(); }
  int64_t integer(const std::string& key) const { return attributes.at(key).as_int(); }
  std::vector<int64_t> integer_list(const std::string& key) const {
    std::vector<int64_t> list;
    for (const Json& item : attributes.at(key).items()) list.push_back(item.as_int());
    return list;
  }
};

// The cases of one op, all of ops.json by op.
const std::map<std::string, std::vector<GoldenCase>>& golden_cases();

}  // namespace tare::test
