// SPDX-License-Identifier: Apache-2.0
// What all optimizers share: groups, the step, states, saving. A concrete optimizer names its states and
// calls its kernel.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tare/autograd/var.h"
#include "tare/kernels/lr_schedule.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::optim {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Parameters that are treated alike. Names must be set (Var::name) and differ.
struct ParamGroup {
  Vars params;
  bool decay = true;  // weight decay applies
};

// What to do when a gradient is not finite. Either way the update changes nothing at all.
enum class NonFinitePolicy : uint8_t { error, skip };

struct StepOptions {
  double max_grad_norm = 0;  // clip by the global norm, folded into the update; 0 does not clip
  NonFinitePolicy nonfinite = NonFinitePolicy::error;
};

struct StepReport {
  bool stepped = true;   // false: a gradient was not finite and nothing changed
  int64_t update = 0;    // updates done, this one included if it stepped
  double grad_norm = 0;  // L2 over all gradients, before clipping
  double learning_rate = 0;
  // Name of a parameter whose gradient was not finite, the first of its dtype, else "".
  std::string nonfinite;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update of every parameter that has a gradient; one without is left alone, and so is its step count,
  // as torch does. One kernel call per parameter dtype, after one read of the gradients for norm and
  // finiteness. Throws under NonFinitePolicy::error, naming the parameter; then nothing was changed.
  StepReport step(const StepOptions& options = {});
  // Forgets the gradients. By default their memory is freed for the next forward.
  void zero_grad(bool keep_memory = false);

  // From the next update on; without a peak of its own it rises to the learning rate that was set before.
  void set_schedule(const LrSchedule& schedule);
  const LrSchedule& schedule() const { return schedule_; }
  int64_t updates() const;
  double learning_rate() const;  // of the next update

  // Bytes of all states once every parameter has had a gradient, from shapes and dtypes alone.
  int64_t state_bytes() const;
  // States by name, "<parameter>.exp_avg"; they share the optimizer's storage.
  NamedTensors state() const;
  // What besides the states makes a resumed run equal: the update index, each parameter's count of skipped
  // updates, the optimizer's name, version and settings.
  std::map<std::string, std::string> metadata() const;
  // Copies states and counts. Error, before anything is changed, that names a state which is missing,
  // unexpected or has another shape or dtype, a count that cannot be, another optimizer, or another version.
  void load(const NamedTensors& state, const std::map<std::string, std::string>& metadata);

  virtual std::string name() const = 0;         // "adamw"
  virtual std::string settings() const = 0;     // "beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.01"
  virtual const char* kernel_name() const = 0;  // as profiles show it
  const Vars& params() const { return params_; }

 protected:
  // Error on no parameters, a name that is missing or double, or a bad learning rate.
  Optimizer(const std::vector<ParamGroup>& groups, double lr, double weight_decay,
            std::vector<std::string> states);
  virtual void update(const TensorTable& table, const Tensor& step_state) = 0;

 private:
  struct Slot {
    double weight_decay = 0;
    std::vector<Tensor> states;  // undefined until the first step with a gradient
    int64_t skipped = 0;
  };
  // A table of all parameters with gradients of one dtype, kept while no address in it changes.
  struct Cached {
    std::vector<TensorEntry> entries;
    TensorTable table;
  };

  void make_states(size_t i);
  std::vector<std::vector<size_t>> active_by_dtype() const;
  const TensorTable& table_of(const std::vector<size_t>& members);
  void find_norm(const std::vector<const TensorTable*>& tables, double max_norm);
  std::string nonfinite_name(const std::vector<std::vector<size_t>>& groups, int64_t index) const;

  Vars params_;
  std::vector<Slot> slots_;
  std::vector<std::string> state_names_;
  std::map<std::pair<DType, DType>, Cached> tables_;
  LrSchedule schedule_;
  Tensor step_state_, norm_scratch_;
};

}  // namespace tare::optim
