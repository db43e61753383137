// SPDX-License-Identifier: Apache-2.0
// Reading the fields of a model's config.json, so that none is overlooked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tare/core/json.h"

namespace tare::nn {

// Each field is taken at most once; what is left at the end was not understood. `json` must outlive this.
class ConfigFields {
 public:
  explicit ConfigFields(const Json& json);

  // The field's value; null where the object lacks it or has null.
  const Json* take(const char* key);
  // The same for a field with a second name. Error where both are given and differ.
  const Json* take(const char* key, const char* alias);

  template <class... Keys> void read(int64_t& value, Keys... keys) {
    if (const Json* found = take(keys...)) value = found->as_int();
  }
  template <class... Keys> void read(std::optional<int64_t>& value, Keys... keys) {
    if (const Json* found = take(keys...)) value = found->as_int();
  }
  template <class... Keys> void read(double& value, Keys... keys) {
    if (const Json* found = take(keys...)) value = found->as_double();
  }
  template <class... Keys> void read(bool& value, Keys... keys) {
    if (const Json* found = take(keys...)) value = found->as_bool();
  }
  // A field that must have this value where it is given.
  void expect(const char* key, bool value, const char* reason);
  void expect_model_type(std::string_view type);

  // Error that lists what nobody took and what is not without effect; `model` is what the error calls it.
  void check_nothing_is_left(const char* model, bool (*is_without_effect)(std::string_view key)) const;

 private:
  const Json& json_;
  std::set<std::string> left_;
};

}  // namespace tare::nn
