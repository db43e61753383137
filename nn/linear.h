// SPDX-License-Identifier: Apache-2.0
// Linear: y = x W^T + b with W (out, in). Conv1D: y = x W + b with W (in, out), as GPT-2's files store it.
#pragma once

#include <optional>
#include <string>

#include "tare/autograd/ops.h"
#include "tare/nn/module.h"

namespace tare::nn {

struct LinearInit {
  // By default U(-1/sqrt(in), 1/sqrt(in)) for both.
  std::optional<Init> weight = std::nullopt;
  std::optional<Init> bias = std::nullopt;
  bool has_bias = true;
};

class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, const LinearInit& init = {}, const ModuleOptions& options = {})
      : Linear(in, out, WeightLayout::out_in, init, options) {}
  Linear(int64_t in, int64_t out, WeightLayout layout, const LinearInit& init, const ModuleOptions& options);
  Var forward(const Var& x) const;  // (..., in) -> (..., out)
  std::string describe() const override;

  int64_t in_features() const { return in_; }
  int64_t out_features() const { return out_; }
  WeightLayout layout() const { return layout_; }

  Var weight;
  Var bias;  // undefined without one

 private:
  int64_t in_, out_;
  WeightLayout layout_;
};

class Conv1D : public Linear {
 public:
  Conv1D(int64_t in, int64_t out, const LinearInit& init = {}, const ModuleOptions& options = {})
      : Linear(in, out, WeightLayout::in_out, init, options) {}
};

}  // namespace tare::nn
