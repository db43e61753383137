// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/sgd.h"

#include <cmath>

#include "tare/core/json.h"

namespace tare::optim {

Sgd::Sgd(const std::vector<ParamGroup>& groups, const SgdOptions& options)
    : Optimizer(groups, options.lr, options.weight_decay,
                [&](const Var& p, const ParamGroup&) {
                  return options.momentum != 0 ? full_states(p, {"momentum_buffer"}) : StateLayout{};
                }),
      options_(options) {
  TARE_CHECK(std::isfinite(options.momentum) && options.momentum >= 0, "sgd: momentum ", options.momentum,
             " must be finite and not negative");
  TARE_CHECK(options.momentum > 0 || options.dampening == 0, "sgd: dampening ", options.dampening,
             " does nothing without momentum");
  TARE_CHECK(!options.nesterov || (options.momentum > 0 && options.dampening == 0),
             "sgd: nesterov needs a momentum and no dampening, got momentum ", options.momentum,
             " and dampening ", options.dampening);
}

std::string Sgd::settings() const {
  const auto text = [](double value) { return Json(value).dump(); };  // every digit
  return detail::concat("momentum=", text(options_.momentum), ",dampening=", text(options_.dampening),
                        ",nesterov=", options_.nesterov, ",weight_decay=", text(options_.weight_decay));
}

void Sgd::update(int, const TensorTable& table, const Tensor& step_state) {
  kernels::sgd_update(table, {options_.momentum, options_.dampening, options_.nesterov}, step_state);
}

}  // namespace tare::optim
