// SPDX-License-Identifier: Apache-2.0
#include "tare/core/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tare/core/error.h"
#include "tare/core/utf8.h"

namespace tare {
namespace {

void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char text[32];
  const char* const begin = text;
  const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(begin, end);
  // 2 was an integer, 2.0 a double: reading back keeps the type.
  if (std::all_of(begin, end, [](char c) { return c == '-' || (c >= '0' && c <= '9'); })) out += ".0";
}

void break_line(std::string& out, int indent, int level) {
  if (indent == 0) return;
  out += '\n';
  out.append(size_t(indent) * size_t(level), ' ');
}

}  // namespace

std::string json_string(std::string_view text) {
  TARE_CHECK(is_utf8(text), "JSON: the text ", in_quotes(text), " is not UTF-8");
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view kControls = "\b\f\n\r\t", kNames = "bfnrt";
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (const size_t at = kControls.find(c); at != kControls.npos) {
      out += {'\\', kNames[at]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += {'\\', 'u', '0', '0', kDigits[c >> 4], kDigits[c & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

Json Json::array(std::vector<Json> items) {
  Json json;
  json.value_ = std::move(items);
  return json;
}

Json Json::object(std::initializer_list<Member> members) {
  Json json;
  json.value_ = Object();
  for (const auto& [key, value] : members) json.set(key, value);
  return json;
}

void Json::wrong_type(const char* expected) const {
  std::string got;
  if (is_array() || is_object())
    got = is_array() ? "an array" : "an object";
  else
    got = is_string() ? in_quotes(std::get<std::string>(value_)) : dump();
  TARE_THROW(place_ ? *place_ + ": " : "JSON: ", "expected ", expected, ", got ", got);
}

bool Json::is_int() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}

bool Json::is_number() const { return is_int() || std::holds_alternative<double>(value_); }

bool Json::as_bool() const {
  if (!is_bool()) wrong_type("true or false");
  return std::get<bool>(value_);
}

int64_t Json::as_int() const {
  if (!std::holds_alternative<int64_t>(value_)) wrong_type("an integer of 64 bits");
  return std::get<int64_t>(value_);
}

uint64_t Json::as_uint() const {
  if (const auto* big = std::get_if<uint64_t>(&value_)) return *big;
  const auto* small = std::get_if<int64_t>(&value_);
  if (!small || *small < 0) wrong_type("an integer from 0 on");
  return uint64_t(*small);
}

double Json::as_double() const {
  if (const auto* number = std::get_if<double>(&value_)) return *number;
  if (const auto* integer = std::get_if<int64_t>(&value_)) return double(*integer);
  if (const auto* big = std::get_if<uint64_t>(&value_)) return double(*big);
  const auto* text = std::get_if<std::string>(&value_);
  if (text && *text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text && *text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text && *text == "-Infinity") return -std::numeric_limits<double>::infinity();
  wrong_type("a number");
}

const std::string& Json::as_string() const {
  if (!is_string()) wrong_type("a string");
  return std::get<std::string>(value_);
}

const std::vector<Json>& Json::items() const {
  if (!is_array()) wrong_type("an array");
  return std::get<Array>(value_);
}

const std::vector<Json::Member>& Json::members() const {
  if (!is_object()) wrong_type("an object");
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members())
    if (member.first == key) return &member.second;
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  const Json* found = find(key);
  TARE_CHECK(found, place_ ? *place_ + ": " : "JSON: ", "has no ", in_quotes(key));
  return *found;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object();
  if (!is_object()) wrong_type("an object");
  Object& object = std::get<Object>(value_);
  const auto it = std::find_if(object.begin(), object.end(), [&](const Member& m) { return m.first == key; });
  if (it != object.end()) return it->second = std::move(value);
  object.emplace_back(key, std::move(value));
  return object.back().second;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  if (!is_array()) wrong_type("an array");
  std::get<Array>(value_).push_back(std::move(value));
}

void Json::write(std::string& out, int indent, int level) const {
  const auto list = [&](const auto& children, char open, char close, auto&& write_child) {
    out += open;
    bool first = true;
    for (const auto& child : children) {
      if (!first) out += indent ? "," : ", ";
      first = false;
      break_line(out, indent, level + 1);
      write_child(child);
    }
    if (!children.empty()) break_line(out, indent, level);
    out += close;
  };
  if (is_null()) out += "null";
  if (const auto* flag = std::get_if<bool>(&value_)) out += *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value_)) out += std::to_string(*integer);
  if (const auto* big = std::get_if<uint64_t>(&value_)) out += std::to_string(*big);
  if (const auto* number = std::get_if<double>(&value_)) write_double(out, *number);
  if (const auto* text = std::get_if<std::string>(&value_)) out += json_string(*text);
  if (const auto* array = std::get_if<Array>(&value_))
    list(*array, '[', ']', [&](const Json& item) { item.write(out, indent, level + 1); });
  if (const auto* object = std::get_if<Object>(&value_)) {
    list(*object, '{', '}', [&](const Member& member) {
      out += json_string(member.first) + ": ";
      member.second.write(out, indent, level + 1);
    });
  }
}

std::string Json::dump(int indent) const {
  std::string out;
  write(out, indent, 0);
  return out;
}

}  // namespace tare
