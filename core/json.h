// SPDX-License-Identifier: Apache-2.0
// JSON values: strict reading of configurations and states, writing of reports.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tare {

// One value with its children. Objects keep the order of their members. Integers are kept exactly, in
// [-2^63, 2^64). A value that was parsed knows where it stood, and its accessors say so in their errors:
// `config.json: n_embd: expected an integer, got "768"`.
class Json {
 public:
  using Member = std::pair<std::string, Json>;

  Json() = default;  // null
  Json(std::nullptr_t) {}
  template <std::same_as<bool> B> Json(B value) : value_(value) {}  // a pointer does not become true
  template <std::integral I>
  requires(!std::same_as<I, bool>) Json(I value) : value_(int64_t(value)) {
    if (std::unsigned_integral<I> && uint64_t(value) > uint64_t(INT64_MAX)) value_ = uint64_t(value);
  }
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  static Json array(std::vector<Json> items = {});
  static Json object(std::initializer_list<Member> members = {});

  // RFC 8259 and no more: no comments, no trailing commas, valid UTF-8, each key once, numbers in range, at
  // most 64 levels. Anything else is an Error with `source` and the byte.
  static Json parse(std::string_view text, const std::string& source = "JSON");
  static Json parse_file(const std::filesystem::path& path);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const;     // an integer of any size
  bool is_number() const;  // an integer or a double
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value as that type; Error when it is another. as_double() also takes integers, and the texts "NaN",
  // "Infinity" and "-Infinity" as dump() writes them.
  bool as_bool() const;
  int64_t as_int() const;
  uint64_t as_uint() const;
  double as_double() const;
  const std::string& as_string() const;
  const std::vector<Json>& items() const;      // of an array
  const std::vector<Member>& members() const;  // of an object

  const Json* find(std::string_view key) const;  // null when the object has no such member
  const Json& at(std::string_view key) const;    // Error when it has none

  Json& set(std::string_view key, Json value);  // adds or replaces; null becomes an object
  void push_back(Json value);                   // null becomes an array

  // Indented by `indent` spaces, or on one line for 0. Doubles in the shortest form that reads back exactly;
  // those that are not finite, which JSON cannot express, as texts. Error on text that is not UTF-8.
  std::string dump(int indent = 0) const;

  bool operator==(const Json& o) const { return value_ == o.value_; }

 private:
  friend class JsonBuilder;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  [[noreturn]] void wrong_type(const char* expected) const;
  void write(std::string& out, int indent, int level) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
  std::shared_ptr<const std::string> place_;  // "config.json: text_config.n_embd"; null when made in memory
};

// Text as a JSON string, quotes included. Error on text that is not UTF-8.
std::string json_string(std::string_view text);

}  // namespace tare
