// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/adamw.h"

#include <cmath>

#include "tare/core/json.h"

namespace tare::optim {

void check_adam_options(const char* optimizer, const AdamWOptions& o) {
  for (const auto& [name, beta] : {std::pair{"beta1", o.beta1}, {"beta2", o.beta2}})
    TARE_CHECK(beta >= 0 && beta < 1, optimizer, ": ", name, " ", beta, " must lie in [0, 1)");
  TARE_CHECK(std::isfinite(o.eps) && o.eps > 0, optimizer, ": eps ", o.eps,
             " must be finite and positive: a parameter whose gradients were all 0 would become 0 / 0");
}

std::string adam_settings(const AdamWOptions& o) {
  const auto text = [](double value) { return Json(value).dump(); };  // every digit
  return detail::concat("beta1=", text(o.beta1), ",beta2=", text(o.beta2), ",eps=", text(o.eps),
                        ",weight_decay=", text(o.weight_decay));
}

AdamW::AdamW(const std::vector<ParamGroup>& groups, const AdamWOptions& options)
    : Optimizer(groups, options.lr, options.weight_decay,
                [](const Var& p, const ParamGroup&) {
                  return full_states(p, {"exp_avg", "exp_avg_sq"});
                }),
      options_(options) {
  check_adam_options("adamw", options);
}

std::string AdamW::settings() const { return adam_settings(options_); }

void AdamW::update(int, const TensorTable& table, const Tensor& step_state) {
  kernels::adamw_update(table, {options_.beta1, options_.beta2, options_.eps}, step_state);
}

}  // namespace tare::optim
