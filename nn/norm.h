// SPDX-License-Identifier: Apache-2.0
// Normalisation over the last axis: LayerNorm (Ba et al., 2016), RMSNorm (Zhang and Sennrich, 2019).
#pragma once

#include <string>

#include "tare/nn/module.h"

namespace tare::nn {

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t width, double epsilon = 1e-5, const ModuleOptions& options = {});
  Var forward(const Var& x) const;  // (..., width) -> the same
  std::string describe() const override;
  double epsilon() const { return epsilon_; }

  Var weight, bias;  // (width), ones and zeros at first

 private:
  double epsilon_;
};

// y = x / sqrt(mean(x^2) + epsilon) * weight
class RmsNorm : public Module {
 public:
  explicit RmsNorm(int64_t width, double epsilon = 1e-6, const ModuleOptions& options = {});
  Var forward(const Var& x) const;  // (..., width) -> the same
  std::string describe() const override;
  double epsilon() const { return epsilon_; }

  Var weight;  // (width), ones at first

 private:
  double epsilon_;
};

}  // namespace tare::nn
