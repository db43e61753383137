// SPDX-License-Identifier: Apache-2.0
// What a step is told, and what it says afterwards. The host goes on while the device works: nothing that it
// does next depends on the report, so a report may be read a step later, or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tare/core/error.h"
#include "tare/core/tensor.h"

namespace tare::optim {

// What to do when a gradient is not finite. Either way the update changes nothing at all.
enum class NonFinitePolicy : uint8_t { error, skip };

// What NonFinitePolicy::error throws.
class NonFiniteGradient : public Error {
 public:
  using Error::Error;
};

struct StepOptions {
  double max_grad_norm = 0;  // clip by the global norm, folded into the update; 0 does not clip
  NonFinitePolicy nonfinite = NonFinitePolicy::error;
  // The StepState of a GradScaler, which calls step() with it: gradients are its loss_scale times too large,
  // and it is told of one that is not finite.
  Tensor scaler = {};
  bool is_unscaled = false;  // its unscale_() has divided them already
};

struct StepReport {
  bool stepped = true;       // false: a gradient was not finite and nothing changed
  int64_t update = 0;        // updates done, this one included if it stepped
  double grad_norm = 0;      // L2 over all gradients of all groups, before clipping
  double learning_rate = 0;  // of the schedule, before a group's factor and what the optimizer makes of it
  double loss_scale = 1;     // by which the update divided the gradients
  // Name of a parameter whose gradient was not finite, the first of its dtype, else "".
  std::string nonfinite;
  int64_t nonfinite_elements = 0;  // of all gradients; 0 too where only their norm overflows f64
};

// A step that may still be under way, shared by the optimizer and who holds a handle. If the last of them
// drops it with an error that nobody was told, it goes to stderr.
class StepInFlight {
 public:
  // `step_state` is read at the first wait(), before the next step begins; `names` are those of the
  // parameters in the order in which StepState::first_nonfinite counts.
  StepInFlight(Tensor step_state, std::vector<std::string> names, NonFinitePolicy policy);
  ~StepInFlight();
  StepInFlight(const StepInFlight&) = delete;
  StepInFlight& operator=(const StepInFlight&) = delete;

  const StepReport& wait();
  bool is_settled() const { return report_.has_value(); }  // someone waited, and so was told

 private:
  Tensor step_state_;
  std::vector<std::string> names_;
  NonFinitePolicy policy_;
  std::optional<StepReport> report_;
};

class StepHandle {
 public:
  explicit StepHandle(std::shared_ptr<StepInFlight> step) : step_(std::move(step)) {}
  // Waits for the device. Under NonFinitePolicy::error, throws NonFiniteGradient with the name of the
  // parameter; nothing was changed then. Asked again, it answers the same.
  StepReport wait() const { return step_->wait(); }

 private:
  std::shared_ptr<StepInFlight> step_;
};

}  // namespace tare::optim
