// SPDX-License-Identifier: Apache-2.0
// Conv2d: kernels (out, in, kernel.h, kernel.w) over images (B, in, H, W), as torch's.
#pragma once

#include <optional>
#include <string>

#include "tare/autograd/ops.h"
#include "tare/nn/module.h"

namespace tare::nn {

struct Conv2dInit {
  // By default U(-1/sqrt(n), 1/sqrt(n)) for both, where n = in * kernel.h * kernel.w.
  std::optional<Init> weight = std::nullopt;
  std::optional<Init> bias = std::nullopt;
  bool has_bias = true;
};

class Conv2d : public Module {
 public:
  Conv2d(int64_t in, int64_t out, Extent2d kernel, const Conv2dOptions& conv = {},
         const Conv2dInit& init = {}, const ModuleOptions& options = {});
  Var forward(const Var& x) const;  // (B, in, H, W) -> (B, out, OH, OW), as conv2d() says
  std::string describe() const override;

  Var weight;
  Var bias;  // undefined without one

 private:
  int64_t in_, out_;
  Extent2d kernel_;
  Conv2dOptions conv_;
};

}  // namespace tare::nn
