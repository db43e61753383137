// SPDX-License-Identifier: Apache-2.0
// Adafactor (Shazeer and Stern, "Adafactor: Adaptive learning rates with sublinear memory cost", 2018): the
// mean squares of a matrix's gradients as means of rows and columns, some thousandths of AdamW's state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tare/kernels/adafactor.h"
#include "tare/optim/optimizer.h"

namespace tare::optim {

// Whose arithmetic: Hugging Face's (and fairseq's), torch.optim.Adafactor's, or the paper's, which is the
// first with every parameter seen as one matrix.
enum class AdafactorPreset : uint8_t { hf, torch, paper };
std::string_view name_of(AdafactorPreset preset);
AdafactorPreset adafactor_preset_from_name(std::string_view name);  // Error that lists the names

// What of a parameter of more than two dimensions is a matrix.
enum class AdafactorFactor : uint8_t {
  last,    // its last two dimensions: a stack of matrices
  matrix,  // "2d", the whole: of 4 dimensions the first against the rest, else all but the last against the
           // last
};
std::string_view name_of(AdafactorFactor factor);
AdafactorFactor adafactor_factor_from_name(std::string_view name);

// What is not set is as the preset has it.
struct AdafactorOptions {
  AdafactorPreset preset = AdafactorPreset::hf;
  // hf and paper: given, the learning rate; else the step t is relative, a schedule's peak of 1 times
  // min(1e-2, 1 / sqrt(t)). torch: 1e-2, and the rate is min(lr, 1 / sqrt(t)).
  std::optional<double> lr = std::nullopt;
  std::optional<bool> relative_step = std::nullopt;    // true unless there is an lr
  std::optional<bool> warmup_init = std::nullopt;      // false; true: min(1e-6 t, 1 / sqrt(t)) instead
  std::optional<bool> scale_parameter = std::nullopt;  // true: steps are times max(eps2, RMS(p))
  std::optional<double> beta1 = std::nullopt;  // 0: no mean of steps, which costs 4 bytes per parameter
  std::optional<double> eps1 = std::nullopt;   // 1e-30; torch: the distance from 1 to the next f32 (f64)
  std::optional<AdafactorFactor> factor = std::nullopt;  // last; paper: matrix
  std::optional<double> eps2 = std::nullopt;             // 1e-3; with scale_parameter only
  double clip_threshold = 1;                             // greatest RMS of an update, before it is scaled
  double decay_rate = -0.8;                              // the mean squares of step t keep 1 - t^decay_rate
  double weight_decay = 0;
};

class Adafactor : public Optimizer {
 public:
  // Error that says what to do about options that exclude each other, as an lr and a relative step, and about
  // those that torch's Adafactor lacks; or that names one that is out of range.
  explicit Adafactor(const std::vector<ParamGroup>& groups, const AdafactorOptions& options = {});

  std::string name() const override { return "adafactor"; }
  std::string settings() const override;
  std::vector<std::string> kernel_names() const override { return {"adafactor_update"}; }

 private:
  void update(int kernel, const TensorTable& table, const Tensor& step_state) override;
  AdafactorOptions options_;  // completed
  Tensor scratch_;
};

}  // namespace tare::optim
