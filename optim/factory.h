// SPDX-License-Identifier: Apache-2.0
// Optimizers by text: where "adamw:lr=2e-3" becomes one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tare/optim/optimizer.h"

namespace tare::optim {

const std::vector<std::string>& optimizer_names();
// Error that names what is wrong and what there is: an unknown optimizer or option, a value out of range.
std::unique_ptr<Optimizer> make_optimizer(std::string_view text, const std::vector<ParamGroup>& groups);

}  // namespace tare::optim
