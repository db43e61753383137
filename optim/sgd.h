// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum, as torch.optim.SGD.
#pragma once

#include "tare/kernels/sgd.h"
#include "tare/optim/optimizer.h"

namespace tare::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;  // L2: added to the gradient
};

class Sgd : public Optimizer {
 public:
  // Error that names the option: a negative lr, momentum or weight_decay; dampening without momentum, which
  // would do nothing; nesterov without momentum or with dampening.
  explicit Sgd(const std::vector<ParamGroup>& groups, const SgdOptions& options = {});

  std::string name() const override { return "sgd"; }
  std::string settings() const override;
  std::vector<std::string> kernel_names() const override { return {"sgd_update"}; }

 private:
  void update(int kernel, const TensorTable& table, const Tensor& step_state) override;
  SgdOptions options_;
};

}  // namespace tare::optim
