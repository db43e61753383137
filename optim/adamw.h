// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019), with torch.optim.AdamW's
// defaults.
#pragma once

#include "tare/kernels/adamw.h"
#include "tare/optim/optimizer.h"

namespace tare::optim {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

// Error, with the optimizer's name, that names the option: eps is not positive, a beta lies outside [0, 1).
void check_adam_options(const char* optimizer, const AdamWOptions& options);
std::string adam_settings(const AdamWOptions& options);  // Optimizer::settings()

class AdamW : public Optimizer {
 public:
  // Error that names the option: a negative lr, eps or weight_decay, a beta outside [0, 1).
  explicit AdamW(const std::vector<ParamGroup>& groups, const AdamWOptions& options = {});

  std::string name() const override { return "adamw"; }
  std::string settings() const override;
  std::vector<std::string> kernel_names() const override { return {"adamw_update"}; }

 private:
  void update(int kernel, const TensorTable& table, const Tensor& step_state) override;
  AdamWOptions options_;
};

}  // namespace tare::optim
