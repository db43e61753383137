// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/config_fields.h"

#include "tare/core/error.h"

namespace tare::nn {

ConfigFields::ConfigFields(const Json& json) : json_(json) {
  for (const auto& [key, value] : json.members()) left_.insert(key);
}

const Json* ConfigFields::take(const char* key) {
  left_.erase(key);
  const Json* found = json_.find(key);
  return found && !found->is_null() ? found : nullptr;
}

const Json* ConfigFields::take(const char* key, const char* alias) {
  const Json *found = take(key), *again = take(alias);
  TARE_CHECK(!found || !again || *found == *again, "config.json: ", key, " is ", found->dump(), ", but ",
             alias, ", which means the same, is ", again->dump());
  return found ? found : again;
}

void ConfigFields::expect(const char* key, bool value, const char* reason) {
  bool given = value;
  read(given, key);
  TARE_CHECK(given == value, "config.json: ", key, " is ", given ? "true" : "false", "; ", reason);
}

void ConfigFields::expect_model_type(std::string_view type) {
  if (const Json* given = take("model_type"))
    TARE_CHECK(given->as_string() == type, "config.json: model_type is \"", given->as_string(),
               "\", expected \"", type, "\"");
}

void ConfigFields::check_nothing_is_left(const char* model,
                                         bool (*is_without_effect)(std::string_view key)) const {
  std::string unknown;
  for (const std::string& key : left_)
    if (!is_without_effect(key)) unknown += (unknown.empty() ? "" : ", ") + key;
  TARE_CHECK(unknown.empty(), "config.json: no ", model, " that is known here has the field ", unknown);
}

}  // namespace tare::nn
