// SPDX-License-Identifier: Apache-2.0
// Optimizers as text: "adamw", "adamw:lr=2e-3,beta2=0.95".
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tare::optim {

struct OptimizerSpec {
  std::string name;
  std::map<std::string, std::string> options;
  std::string text;  // as given
};

// Error that shows the text on an empty name, an option without "=", or one given twice.
OptimizerSpec parse_spec(std::string_view text);
// A list separated by commas, in which the next optimizer begins at a name: in "sgd:lr=1,momentum=0.9,adamw"
// the word "adamw" has no "=" and so begins one. Each element is returned as given.
std::vector<std::string> split_specs(std::string_view text);

// The text with `key` set to `value`, in the place of the value that it has, else at the end.
std::string with_option(std::string_view text, const std::string& key, const std::string& value);

// The settings of an optimizer as its metadata have them, "block=128,map=bnb", by name.
std::map<std::string, std::string> parse_settings(const std::string& settings);

// Typed access to the options of a spec. finish() is an Error that names what no one asked for and what there
// is, so that no option is ignored.
class SpecReader {
 public:
  explicit SpecReader(const OptimizerSpec& spec) : spec_(spec) {}
  bool has(const std::string& key);
  double number(const std::string& key, double fallback);  // Error when it is no finite number
  int64_t integer(const std::string& key, int64_t fallback);
  bool flag(const std::string& key, bool fallback);  // true, false, 1, 0
  std::string word(const std::string& key, const std::string& fallback);
  void finish() const;

 private:
  const std::string* find(const std::string& key);
  const OptimizerSpec& spec_;
  std::set<std::string> known_;
};

}  // namespace tare::optim
