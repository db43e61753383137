// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tare/core/error.h"

namespace tare::optim {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

template <class T>
T parse_number(const OptimizerSpec& spec, const std::string& key, const std::string& text,
               const char* expected) {
  T value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  TARE_CHECK(fault == std::errc() && end == text.data() + text.size() && std::isfinite(double(value)),
             "optimizer \"", spec.text, "\": ", key, "=", text, ", expected ", expected);
  return value;
}

}  // namespace

OptimizerSpec parse_spec(std::string_view text) {
  OptimizerSpec spec;
  spec.text = text;
  const size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  TARE_CHECK(!spec.name.empty() && spec.name.find_first_of("=,") == std::string::npos, "optimizer \"", text,
             "\": expected a name, or name:option=value,...");
  if (colon == std::string_view::npos) return spec;
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    const size_t equals = part.find('=');
    TARE_CHECK(equals != std::string::npos && equals > 0 && equals + 1 < part.size(), "optimizer \"", text,
               "\": \"", part, "\" is not option=value");
    const bool added = spec.options.emplace(part.substr(0, equals), part.substr(equals + 1)).second;
    TARE_CHECK(added, "optimizer \"", text, "\": ", part.substr(0, equals), " is given twice");
  }
  return spec;
}

std::vector<std::string> split_specs(std::string_view text) {
  std::vector<std::string> specs;
  for (const std::string& part : split(text, ',')) {
    const size_t colon = part.find(':'), equals = part.find('=');
    const bool is_option = equals != std::string::npos && (colon == std::string::npos || equals < colon);
    if (!is_option) {
      specs.push_back(part);
      continue;
    }
    TARE_CHECK(!specs.empty(), "optimizers \"", text, "\": \"", part, "\" stands before any name");
    // The first option of "name" would need a colon: "adamw,lr=1" is a slip.
    TARE_CHECK(specs.back().find(':') != std::string::npos, "optimizers \"", text, "\": write ", specs.back(),
               ":", part);
    specs.back() += "," + part;
  }
  for (const std::string& spec : specs) parse_spec(spec);
  return specs;
}

std::string with_option(std::string_view text, const std::string& key, const std::string& value) {
  const size_t colon = std::min(text.find(':'), text.size());
  std::string result(text.substr(0, colon));
  char separator = ':';
  const auto add = [&](const std::string& option) {
    result += separator + option;
    separator = ',';
  };
  bool placed = false;
  if (colon < text.size())
    for (const std::string& part : split(text.substr(colon + 1), ',')) {
      const bool here = part.starts_with(key + "=");
      add(here ? key + "=" + value : part);
      placed = placed || here;
    }
  if (!placed) add(key + "=" + value);
  return result;
}

std::map<std::string, std::string> parse_settings(const std::string& settings) {
  std::map<std::string, std::string> parts;
  if (settings.empty()) return parts;
  for (const std::string& part : split(settings, ',')) {
    const size_t equals = std::min(part.find('='), part.size());
    parts[part.substr(0, equals)] = equals < part.size() ? part.substr(equals + 1) : "";
  }
  return parts;
}

const std::string* SpecReader::find(const std::string& key) {
  known_.insert(key);
  const auto it = spec_.options.find(key);
  return it == spec_.options.end() ? nullptr : &it->second;
}

bool SpecReader::has(const std::string& key) { return find(key) != nullptr; }

double SpecReader::number(const std::string& key, double fallback) {
  const std::string* text = find(key);
  return text ? parse_number<double>(spec_, key, *text, "a number") : fallback;
}

int64_t SpecReader::integer(const std::string& key, int64_t fallback) {
  const std::string* text = find(key);
  return text ? parse_number<int64_t>(spec_, key, *text, "an integer") : fallback;
}

bool SpecReader::flag(const std::string& key, bool fallback) {
  const std::string* text = find(key);
  if (!text) return fallback;
  const bool yes = *text == "true" || *text == "1", no = *text == "false" || *text == "0";
  TARE_CHECK(yes || no, "optimizer \"", spec_.text, "\": ", key, "=", *text, ", expected true or false");
  return yes;
}

std::string SpecReader::word(const std::string& key, const std::string& fallback) {
  const std::string* text = find(key);
  return text ? *text : fallback;
}

void SpecReader::finish() const {
  for (const auto& [key, value] : spec_.options) {
    if (known_.contains(key)) continue;
    std::string list;
    for (const std::string& name : known_) list += (list.empty() ? "" : ", ") + name;
    TARE_THROW("optimizer \"", spec_.text, "\": ", spec_.name, " has no option ", key, "; it has ", list);
  }
}

}  // namespace tare::optim
