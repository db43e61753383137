// SPDX-License-Identifier: Apache-2.0
// Reading JSON: nlohmann's event parser, with what it lets pass (duplicate keys, any depth) refused here.
#include <algorithm>
#include <cctype>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "tare/core/error.h"
#include "tare/core/json.h"
#include "tare/core/mapped_file.h"

namespace tare {

constexpr size_t kDeepest = 64;

// Builds a Json from the parser's events. The open containers stand on a stack; a child is only finished
// after its parent's list has last grown, so the pointers hold.
class JsonBuilder {
 public:
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  explicit JsonBuilder(const std::string& source)
      : source_(source), root_place_(std::make_shared<const std::string>(source)) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(int64_t value) { return add(Json(value)); }
  bool number_unsigned(uint64_t value) { return add(Json(value)); }
  bool number_float(double value, const std::string&) { return add(Json(value)); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(binary_t&) { TARE_UNREACHABLE(); }  // not in JSON text

  bool start_object(size_t) { return open(Json::object()); }
  bool key(std::string& name) {
    Level& level = levels_.back();
    TARE_CHECK(level.keys.insert(name).second, *level.json->place_, ": the key ", in_quotes(name),
               " appears twice in one object");
    level.key = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(Json::array()); }
  bool end_array() { return close(); }

  bool parse_error(size_t byte, const std::string&, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what is wrong"
    std::string_view what = error.what();
    if (const size_t at = what.find("] "); at != what.npos) what.remove_prefix(at + 2);
    if (const size_t at = what.find(": "); what.starts_with("parse error") && at != what.npos)
      what.remove_prefix(at + 2);
    std::string text;
    for (const char c : what.substr(0, 200)) text += c >= 0x20 && c < 0x7f ? c : '?';
    TARE_THROW(source_, ": not valid JSON at byte ", byte, ": ", text);
  }

  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json* json;
    std::string key;  // of the member to come
    std::unordered_set<std::string> keys;
  };

  Json* place(Json value) {
    if (levels_.empty()) {
      value.place_ = root_place_;
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    Json& parent = *level.json;
    if (auto* items = std::get_if<Json::Array>(&parent.value_)) {
      value.place_ = parent.place_;
      return &items->emplace_back(std::move(value));
    }
    const char* joint = parent.place_ == root_place_ ? ": " : ".";
    const bool plain = std::all_of(level.key.begin(), level.key.end(), [](char c) {
      return c == '_' || std::isalnum(static_cast<unsigned char>(c));
    });
    value.place_ = std::make_shared<const std::string>(*parent.place_ + joint +
                                                       (plain ? level.key : in_quotes(level.key)));
    auto& members = std::get<Json::Object>(parent.value_);
    return &members.emplace_back(std::move(level.key), std::move(value)).second;
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    TARE_CHECK(levels_.size() < kDeepest, source_, ": nested deeper than ", kDeepest, " levels");
    levels_.push_back({place(std::move(container)), {}, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  const std::string& source_;
  std::shared_ptr<const std::string> root_place_;
  Json root_;
  std::vector<Level> levels_;
};

Json Json::parse(std::string_view text, const std::string& source) {
  // nlohmann's parser takes a zero byte for the end of the text.
  const size_t zero = text.find('\0');
  TARE_CHECK(zero == text.npos, source, ": not valid JSON at byte ", zero, ": a zero byte");
  JsonBuilder builder(source);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

Json Json::parse_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path, MappedFile::Access::read_only);
  return parse({reinterpret_cast<const char*>(file->data()), size_t(file->size())}, path.string());
}

}  // namespace tare
