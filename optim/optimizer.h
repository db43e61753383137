// SPDX-License-Identifier: Apache-2.0
// What all optimizers share: groups, the step, states, saving. A concrete optimizer names its states and
// calls its kernel.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tare/autograd/var.h"
#include "tare/kernels/lr_schedule.h"
#include "tare/kernels/tensor_table.h"
#include "tare/optim/step_handle.h"

namespace tare::optim {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Parameters that are treated alike. Names must be set (Var::name) and differ.
struct ParamGroup {
  Vars params;
  bool decay = true;                                  // weight decay applies
  double lr_factor = 1;                               // on the schedule's learning rate
  std::optional<double> weight_decay = std::nullopt;  // instead of the optimizer's; only with decay
  bool embedding = false;                             // tables of embeddings, which some optimizers spare
};

struct StateSpec {
  std::string name;  // "exp_avg"
  Shape shape;
  DType dtype = DType::f32;
};

// What an optimizer keeps for one parameter, and which of its kernels updates it.
struct StateLayout {
  std::vector<StateSpec> states;  // at most TensorEntry::kStates
  int kernel = 0;                 // parameters of equal dtypes and the same number here share a call
  int64_t rows = 0, cols = 0;     // TensorEntry's
};

// f64 for f64 parameters, else f32.
DType wide_dtype_of(const Var& param);
// States of the parameter's own shape in wide_dtype_of() it, and nothing else.
StateLayout full_states(const Var& param, const std::vector<std::string>& names);

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update of every parameter that has a gradient; one without is left alone, and so is its step count,
  // as torch does. One kernel call per parameter dtype (and kind of state), after one read of the gradients
  // for norm and finiteness. Does not wait for the device: what happened is in the handle. An error that
  // nobody waited for is thrown, once, by the next call of what depends on it: step(), updates(),
  // learning_rate(), state(), metadata() or load().
  StepHandle step(const StepOptions& options = {});
  // Divides the gradients by the loss_scale of a GradScaler's StepState, which is told of one that is not
  // finite. Error when no parameter has a gradient.
  void unscale_gradients(Tensor& scaler);
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
  // What besides the states makes a resumed run equal: the update index, each parameter's own count of
  // updates ("step.<parameter>"), the optimizer's name, version and settings, and the factor and decay of a
  // parameter's group where they are not the optimizer's ("group.<parameter>").
  std::map<std::string, std::string> metadata() const;
  // Copies states and counts into the optimizer's own, which must not be those of another parameter. Error,
  // before anything is changed, that names a state which is missing, unexpected or has another shape or
  // dtype, a count that cannot be, another optimizer, group or version.
  void load(const NamedTensors& state, const std::map<std::string, std::string>& metadata);

  virtual std::string name() const = 0;      // "adamw"
  virtual std::string settings() const = 0;  // "beta1=0.9,beta2=0.999,eps=1e-08,weight_decay=0.01"
  virtual std::vector<std::string> kernel_names() const = 0;  // of the updates, as profiles show them
  const Vars& params() const { return params_; }
  const StateLayout& layout(size_t i) const { return slots_.at(i).layout; }  // of params()[i]

 protected:
  using LayoutOf = std::function<StateLayout(const Var& param, const ParamGroup& group)>;
  // Error on no parameters, a name that is missing or double, or a bad learning rate.
  Optimizer(const std::vector<ParamGroup>& groups, double lr, double weight_decay, const LayoutOf& layout_of);
  // The update of all parameters with a gradient whose layouts name this kernel, of one dtype.
  virtual void update(int kernel, const TensorTable& table, const Tensor& step_state) = 0;

 private:
  struct Slot {
    double lr_factor = 1, weight_decay = 0;
    std::string group;  // what the metadata says of it; "" for the optimizer's own settings
    StateLayout layout;
    std::vector<Tensor> states;  // undefined until the first step with a gradient
  };
  // What shares a kernel call.
  struct CallKey {
    int kernel;
    DType param, grad;
    auto operator<=>(const CallKey&) const = default;
  };
  struct Call {
    CallKey key;
    std::vector<size_t> members;  // of params_
    const TensorTable* table = nullptr;
  };
  // A table of all parameters with gradients of one dtype, kept while no address in it changes.
  struct Cached {
    std::vector<TensorEntry> entries;
    TensorTable table;
  };

  void settle() const;
  void make_state(size_t i, size_t k);
  std::vector<Call> active_calls() const;
  const TensorTable& table_of(const Call& call);
  void find_norm(const std::vector<Call>& calls, double max_norm);
  void run_updates(const std::vector<Call>& calls);

  Vars params_;
  std::vector<Slot> slots_;
  std::map<CallKey, Cached> tables_;
  LrSchedule schedule_;
  Tensor step_state_, norm_scratch_;
  Tensor counts_;                       // i64 (parameters): updates that each has had; workspace
  std::shared_ptr<StepInFlight> last_;  // the latest step
};

}  // namespace tare::optim
