// SPDX-License-Identifier: Apache-2.0
// Reading an optimizer's states back.
#include <charconv>
#include <set>

#include "tare/kernels/step.h"
#include "tare/optim/optimizer.h"

namespace tare::optim {
namespace {

using Metadata = std::map<std::string, std::string>;

const std::string kSkipped = "skipped.";  // a parameter's name follows

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

}  // namespace

void Optimizer::load(const NamedTensors& state, const Metadata& metadata) {
  const Metadata mine = this->metadata();
  for (const char* key : {"optimizer", "version", "settings"})
    TARE_CHECK(field(metadata, key) == mine.at(key), "optimizer state: ", key, " is ", field(metadata, key),
               ", this run has ", mine.at(key));
  StepState step = kernels::read_step_state(step_state_);
  step.update = count_field("update", field(metadata, "update"));

  std::map<std::string, Tensor> given;
  for (const auto& [key, tensor] : state)
    TARE_CHECK(given.emplace(key, tensor).second, "optimizer state: \"", key, "\" stands twice");
  std::set<std::string> known;  // fields about single parameters
  std::vector<Slot> slots = slots_;
  for (size_t i = 0; i < params_.size(); ++i) {
    const auto skipped = metadata.find(kSkipped + params_[i].name());
    slots[i].skipped = skipped == metadata.end() ? 0 : count_field(skipped->first, skipped->second);
    TARE_CHECK(slots[i].skipped <= step.update, "optimizer state: ", kSkipped, params_[i].name(), " is ",
               slots[i].skipped, ", more than the ", step.update, " updates of the run");
    known.insert(kSkipped + params_[i].name());
    const auto key_of = [&](size_t k) { return params_[i].name() + "." + state_names_[k]; };
    // A parameter that was in no update may have states, of a step that was skipped, or none; never some.
    bool expected = slots[i].skipped < step.update;
    for (size_t k = 0; k < state_names_.size(); ++k) expected = expected || given.contains(key_of(k));
    for (size_t k = 0; k < state_names_.size(); ++k) {
      const std::string key = key_of(k);
      const auto it = given.find(key);
      if (it == given.end()) {
        TARE_CHECK(!expected, "optimizer state: \"", key, "\" is missing");
        slots[i].states[k] = {};
        continue;
      }
      const DType dtype = params_[i].dtype() == DType::f64 ? DType::f64 : DType::f32;
      TARE_CHECK(it->second.shape() == params_[i].shape() && it->second.dtype() == dtype,
                 "optimizer state: \"", key, "\" is ", it->second.shape(), " of ", it->second.dtype(),
                 ", expected ", params_[i].shape(), " of ", dtype);
      slots[i].states[k] = it->second;
      given.erase(it);
    }
  }
  TARE_CHECK(given.empty(), "optimizer state: \"", given.begin()->first,
             "\" belongs to no parameter of this run");
  for (const auto& [key, value] : metadata)
    TARE_CHECK(!key.starts_with(kSkipped) || known.contains(key), "optimizer state: \"", key,
               "\" belongs to no parameter of this run");
  for (size_t i = 0; i < params_.size(); ++i)
    for (Tensor& tensor : slots[i].states) {
      if (!tensor.defined()) continue;
      Tensor own =
          Tensor::empty(tensor.shape(), {tensor.dtype(), params_[i].device(), Category::optimizer_state});
      copy(tensor, own);
      tensor = own;
    }
  slots_ = std::move(slots);
  tables_.clear();
  kernels::write_step_state(step_state_, step);
}

}  // namespace tare::optim
