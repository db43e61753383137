// SPDX-License-Identifier: Apache-2.0
// AdamW with 8-bit moments (Dettmers et al., "8-bit optimizers via block-wise quantization", 2022): a quarter
// of AdamW's state bytes. What is too small to matter, or is asked to be spared, keeps f32 moments.
#pragma once

#include <map>
#include <string>

#include "tare/kernels/adamw8bit.h"
#include "tare/optim/adamw.h"
#include "tare/optim/optimizer.h"

namespace tare::optim {

struct AdamW8bitOptions {
  AdamWOptions adam = {};
  int64_t block = 256;                               // elements that share a scale
  kernels::QuantMap map = kernels::QuantMap::bnb;    // of exp_avg: bnb or symmetric
  kernels::QuantMap map_v = kernels::QuantMap::bnb;  // of exp_avg_sq: bnb or zero-free
  int embeddings = 8;                                // bits of the moments of embedding tables: 8 or 32
  int64_t min_8bit_size = 4096;                      // parameters of fewer elements have 32 bits
  // Bits by path: "h.0.attn" is meant for the parameter of that name and all below a module of that name.
  // The longest path that fits a parameter decides, before `embeddings` and `min_8bit_size`.
  std::map<std::string, int> bits_of;
};

class AdamW8bit : public Optimizer {
 public:
  // Error that names the option: as AdamW's, a block or map that is none, bits other than 8 and 32, a path
  // that fits no parameter, or 8 bits for an f64 parameter, whose moments are f64 otherwise.
  explicit AdamW8bit(const std::vector<ParamGroup>& groups, const AdamW8bitOptions& options = {});

  std::string name() const override { return "adamw8bit"; }
  std::string settings() const override;
  std::vector<std::string> kernel_names() const override { return {"adamw8bit_update", "adamw_update"}; }

 private:
  void update(int kernel, const TensorTable& table, const Tensor& step_state) override;
  AdamW8bitOptions options_;
};

}  // namespace tare::optim
