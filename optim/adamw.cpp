// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/adamw.h"

#include <cmath>

#include "tare/core/json.h"

namespace tare::optim {

AdamW::AdamW(const std::vector<ParamGroup>& groups, const AdamWOptions& options)
    : Optimizer(groups, options.lr, options.weight_decay,
                [](const Var& p, const ParamGroup&) {
                  return full_states(p, {"exp_avg", "exp_avg_sq"});
                }),
      options_(options) {
  TARE_CHECK(options.beta1 >= 0 && options.beta1 < 1, "adamw: beta1 ", options.beta1, " must lie in [0, 1)");
  TARE_CHECK(options.beta2 >= 0 && options.beta2 < 1, "adamw: beta2 ", options.beta2, " must lie in [0, 1)");
  TARE_CHECK(std::isfinite(options.eps) && options.eps > 0, "adamw: eps ", options.eps,
             " must be finite and positive: a parameter whose gradients were all 0 would become 0 / 0");
}

std::string AdamW::settings() const {
  const auto text = [](double value) { return Json(value).dump(); };  // every digit
  return detail::concat("beta1=", text(options_.beta1), ",beta2=", text(options_.beta2),
                        ",eps=", text(options_.eps), ",weight_decay=", text(options_.weight_decay));
}

void AdamW::update(int, const TensorTable& table, Tensor&, const Tensor& step_state) {
  kernels::adamw_update(table, {options_.beta1, options_.beta2, options_.eps}, step_state);
}

}  // namespace tare::optim
