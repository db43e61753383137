// SPDX-License-Identifier: Apache-2.0
// Optimizers by text: where "adamw:lr=2e-3" becomes one, and what there is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tare/optim/optimizer.h"
#include "tare/optim/spec.h"

namespace tare::optim {

struct OptimizerOption {
  std::string name;
  std::string initial;  // what holds where it is not given, as text; "" for nothing
  std::string meaning;
  bool names_parameters = false;  // its value is about parameters of the model by name
};

// One row of the table of optimizers.
struct OptimizerInfo {
  std::string name, summary, source;  // source: the paper
  std::vector<OptimizerOption> options;
  std::unique_ptr<Optimizer> (*make)(const OptimizerSpec& spec, const std::vector<ParamGroup>& groups);
  // State bytes per element of a large f32 matrix, with the options' initial values.
  double bytes_per_parameter() const;
};

const std::vector<OptimizerInfo>& optimizers();
std::vector<std::string> optimizer_names();
// Error that names what is wrong and what there is: an unknown optimizer or option, a value out of range.
std::unique_ptr<Optimizer> make_optimizer(std::string_view text, const std::vector<ParamGroup>& groups);
// Before there is a model: of one parameter that stands for it, to have the same errors. Values that name
// parameters are not looked at.
std::unique_ptr<Optimizer> make_trial_optimizer(std::string_view text);

}  // namespace tare::optim
