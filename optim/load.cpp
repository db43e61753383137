// SPDX-License-Identifier: Apache-2.0
// Reading an optimizer's states back.
#include <charconv>
#include <set>

#include "tare/kernels/step.h"
#include "tare/optim/optimizer.h"
#include "tare/optim/spec.h"

namespace tare::optim {
namespace {

using Metadata = std::map<std::string, std::string>;

const std::string kStep = "step.", kGroup = "group.";  // a parameter's name follows

const std::string& field(const Metadata& m, const std::string& key) {
  const auto it = m.find(key);
  TARE_CHECK(it != m.end(), "optimizer state: the metadata has no \"", key, "\"");
  return it->second;
}

int64_t count_field(const std::string& key, const std::string& text) {
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  TARE_CHECK(fault == std::errc() && end == text.data() + text.size() && n >= 0, "optimizer state: ", key,
             " is \"", text, "\", expected a count");
  return n;
}

// Error that names the settings that differ, and both values.
void check_settings(const std::string& given, const std::string& mine) {
  if (given == mine) return;
  const Metadata was = parse_settings(given), is = parse_settings(mine);
  const auto value = [](const Metadata& m, const std::string& key) {
    const auto it = m.find(key);
    return it == m.end() ? std::string("none") : it->second;
  };
  std::set<std::string> keys;
  for (const Metadata* m : {&was, &is})
    for (const auto& [key, text] : *m) keys.insert(key);
  std::string differences;
  for (const std::string& key : keys)
    if (value(was, key) != value(is, key))
      differences += detail::concat(differences.empty() ? "" : "; ", key, " is ", value(was, key),
                                    ", this run has ", value(is, key));
  TARE_THROW("optimizer state: settings differ: ",
             differences.empty() ? given + ", not " + mine : differences);
}

void check_metadata(const Metadata& given, const Metadata& mine) {
  const auto check_field = [&](const std::string& key) {
    TARE_CHECK(field(given, key) == mine.at(key), "optimizer state: ", key, " is ", field(given, key),
               ", this run has ", mine.at(key));
  };
  for (const char* key : {"version", "optimizer"}) check_field(key);
  check_settings(field(given, "settings"), mine.at("settings"));
  for (const auto& [key, value] : mine)
    if (key.starts_with(kGroup)) check_field(key);
  for (const auto& [key, value] : given)
    TARE_CHECK(mine.contains(key) || !(key.starts_with(kStep) || key.starts_with(kGroup)),
               "optimizer state: \"", key, "\" is ", value, ", this run has none");
}

}  // namespace

void Optimizer::load(const NamedTensors& state, const Metadata& metadata) {
  check_metadata(metadata, this->metadata());
  StepState step = kernels::read_step_state(step_state_);
  step.update = count_field("update", field(metadata, "update"));

  std::map<std::string, Tensor> given;
  for (const auto& [key, tensor] : state)
    TARE_CHECK(given.emplace(key, tensor).second, "optimizer state: \"", key, "\" stands twice");
  std::vector<int64_t> counts;
  std::vector<std::vector<Tensor>> chosen(params_.size());  // undefined where there is none
  for (size_t i = 0; i < params_.size(); ++i) {
    const std::string step_key = kStep + params_[i].name();
    counts.push_back(count_field(step_key, field(metadata, step_key)));
    TARE_CHECK(counts[i] <= step.update, "optimizer state: ", step_key, " is ", counts[i], ", more than the ",
               step.update, " updates of the run");
    const auto& specs = slots_[i].layout.states;
    const auto key_of = [&](const StateSpec& spec) { return params_[i].name() + "." + spec.name; };
    // A parameter that was in no update may have states, of a step that was skipped, or none; never some.
    bool expected = counts[i] > 0;
    for (const StateSpec& spec : specs) expected = expected || given.contains(key_of(spec));
    for (const StateSpec& spec : specs) {
      const std::string key = key_of(spec);
      const auto it = given.find(key);
      TARE_CHECK(it != given.end() || !expected, "optimizer state: \"", key, "\" is missing");
      chosen[i].push_back(it == given.end() ? Tensor() : it->second);
      if (it == given.end()) continue;
      TARE_CHECK(it->second.shape() == spec.shape && it->second.dtype() == spec.dtype, "optimizer state: \"",
                 key, "\" is ", it->second.shape(), " of ", it->second.dtype(), ", expected ", spec.shape,
                 " of ", spec.dtype);
      given.erase(it);
    }
  }
  TARE_CHECK(given.empty(), "optimizer state: \"", given.begin()->first,
             "\" belongs to no parameter of this run");
  for (size_t i = 0; i < params_.size(); ++i)
    for (size_t k = 0; k < slots_[i].states.size(); ++k) {
      Tensor& own = slots_[i].states[k];
      if (!chosen[i][k].defined()) {
        own = {};
      } else {
        make_state(i, k);
        if (!own.same_storage(chosen[i][k])) copy(chosen[i][k], own);
      }
    }
  copy(Tensor::from_vector(counts, counts_.shape()), counts_);
  kernels::write_step_state(step_state_, step);
  last_.reset();
}

}  // namespace tare::optim
