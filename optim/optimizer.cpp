// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/optimizer.h"

#include <cmath>
#include <set>

#include "tare/core/json.h"
#include "tare/core/scope.h"
#include "tare/kernels/grad_norm.h"
#include "tare/kernels/loss_scale.h"
#include "tare/kernels/step.h"
#include "tare/optim/schedule.h"

namespace tare::optim {
namespace {

constexpr const char* kVersion = "2";  // of the layout of states and metadata

// Addresses only: meta tensors have none, and reading a parameter is no write.
void* address_of(const Tensor& t) {
  return !t.defined() || t.device().is_meta() ? nullptr : const_cast<void*>(t.raw());
}

double weight_decay_of(const ParamGroup& group, double usual) {
  TARE_CHECK(group.decay || !group.weight_decay, "optimizer: a group without decay has a weight_decay of ",
             *group.weight_decay);
  const double decay = group.decay ? group.weight_decay.value_or(usual) : 0;
  TARE_CHECK(std::isfinite(decay) && decay >= 0, "optimizer: weight_decay ", decay,
             " must be finite and not negative");
  return decay;
}

std::string describe(double lr_factor, double weight_decay) {
  return detail::concat("lr_factor=", Json(lr_factor).dump(), ",weight_decay=", Json(weight_decay).dump());
}

}  // namespace

DType wide_dtype_of(const Var& param) { return param.dtype() == DType::f64 ? DType::f64 : DType::f32; }

StateLayout full_states(const Var& param, const std::vector<std::string>& names) {
  StateLayout layout;
  for (const std::string& name : names) layout.states.push_back({name, param.shape(), wide_dtype_of(param)});
  return layout;
}

Optimizer::Optimizer(const std::vector<ParamGroup>& groups, double lr, double weight_decay,
                     const LayoutOf& layout_of) {
  TARE_CHECK(std::isfinite(lr) && lr >= 0, "optimizer: learning rate ", lr,
             " must be finite and not negative");
  weight_decay_of({}, weight_decay);
  schedule_.peak = lr;
  std::set<std::string> names;
  for (const ParamGroup& group : groups) {
    const double decay = weight_decay_of(group, weight_decay);
    TARE_CHECK(std::isfinite(group.lr_factor) && group.lr_factor >= 0, "optimizer: lr_factor ",
               group.lr_factor, " must be finite and not negative");
    const bool usual = group.lr_factor == 1 && decay == weight_decay;
    const std::string text = usual ? "" : describe(group.lr_factor, decay);
    for (const Var& p : group.params) {
      TARE_CHECK(p.requires_grad() && p.is_leaf(), "optimizer: parameter \"", p.name(),
                 "\" wants no gradient");
      TARE_CHECK(!p.name().empty(), "optimizer: a parameter of shape ", p.shape(), " has no name");
      TARE_CHECK(names.insert(p.name()).second, "optimizer: two parameters are named \"", p.name(), "\"");
      TARE_CHECK(params_.empty() || p.device() == params_[0].device(), "optimizer: parameter \"", p.name(),
                 "\" is on ", p.device(), ", others on ", params_[0].device());
      params_.push_back(p);
      Slot slot = {group.lr_factor, decay, text, layout_of(p, group), {}};
      slot.states.resize(slot.layout.states.size());
      slots_.push_back(std::move(slot));
    }
  }
  TARE_CHECK(!params_.empty(), "optimizer: no parameters");
  const OpScope op("optimizer");
  const Device device = params_[0].device();
  step_state_ = kernels::make_step_state(device);
  counts_ = Tensor::zeros({int64_t(params_.size())}, {DType::i64, device, Category::workspace});
}

void Optimizer::set_schedule(const LrSchedule& schedule) {
  LrSchedule s = schedule;
  if (std::isnan(s.peak)) s.peak = schedule_.peak;
  check(s);
  schedule_ = s;
}

// Before anything that the latest step may still change or that its error is about.
void Optimizer::settle() const {
  if (last_ && !last_->is_settled()) last_->wait();
}

int64_t Optimizer::updates() const {
  settle();
  return kernels::read_step_state(step_state_).update;
}

double Optimizer::learning_rate() const { return learning_rate_at(schedule_, updates()); }

int64_t Optimizer::state_bytes() const {
  int64_t bytes = 0;
  for (const Slot& slot : slots_)
    for (const StateSpec& spec : slot.layout.states) bytes += spec.shape.numel() * size_of(spec.dtype);
  return bytes;
}

void Optimizer::zero_grad(bool keep_memory) {
  for (Var& p : params_) p.zero_grad(keep_memory);
}

void Optimizer::make_state(size_t i, size_t k) {
  Tensor& state = slots_[i].states[k];
  const StateSpec& spec = slots_[i].layout.states[k];
  if (!state.defined())
    state = Tensor::zeros(spec.shape, {spec.dtype, params_[i].device(), Category::optimizer_state});
}

// Parameters with a gradient, grouped by what shares a call.
std::vector<Optimizer::Call> Optimizer::active_calls() const {
  std::map<CallKey, std::vector<size_t>> by_key;
  for (size_t i = 0; i < params_.size(); ++i)
    if (const Tensor grad = params_[i].grad(); grad.defined())
      by_key[{slots_[i].layout.kernel, params_[i].dtype(), grad.dtype()}].push_back(i);
  std::vector<Call> calls;
  for (auto& [key, members] : by_key) calls.push_back({key, std::move(members)});
  return calls;
}

const TensorTable& Optimizer::table_of(const Call& call) {
  std::vector<TensorEntry> entries;
  auto* counts = static_cast<int64_t*>(address_of(counts_));
  for (size_t i : call.members) {
    const Slot& slot = slots_[i];
    TensorEntry e;
    e.param = address_of(params_[i].value());
    e.grad = address_of(params_[i].grad());
    for (size_t k = 0; k < slot.states.size(); ++k) e.states[k] = address_of(slot.states[k]);
    if (counts) e.updates = counts + i;
    e.numel = params_[i].numel();
    e.rows = slot.layout.rows;
    e.cols = slot.layout.cols;
    e.lr_factor = slot.lr_factor;
    e.weight_decay = slot.weight_decay;
    entries.push_back(e);
  }
  Cached& cached = tables_[call.key];
  if (cached.entries != entries) {
    const size_t first = call.members.front();
    const auto& states = slots_[first].layout.states;
    const DType state = states.empty() ? wide_dtype_of(params_[first]) : states[0].dtype;
    cached.entries = entries;
    cached.table =
        TensorTable(std::move(entries), call.key.param, call.key.grad, state, params_[first].device());
  }
  return cached.table;
}

void Optimizer::find_norm(const std::vector<Call>& calls, double max_norm) {
  int64_t bytes = 0, index = 0;
  for (const Call& call : calls) bytes = std::max(bytes, kernels::grad_norm_scratch_bytes(*call.table));
  if (!norm_scratch_.defined() || norm_scratch_.nbytes() < bytes)
    norm_scratch_ = Tensor::empty({bytes}, {DType::u8, params_[0].device(), Category::workspace});
  for (const Call& call : calls) {
    kernels::grad_norm(*call.table, index, norm_scratch_, step_state_);
    index += call.table->count();
  }
  kernels::finish_grad_norm(max_norm, step_state_);
  for (const Call& call : calls) kernels::count_nonfinite(*call.table, step_state_);
}

void Optimizer::run_updates(const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    update(call.key.kernel, *call.table, step_state_);
    kernels::count_update(*call.table, step_state_);
  }
  // Whether or not it stepped, which only the device knows.
  for (const Call& call : calls)
    for (size_t i : call.members) params_[i].mutable_value().bump_version();
}

StepHandle Optimizer::step(const StepOptions& options) {
  const OpScope op("optimizer");
  settle();
  TARE_CHECK(std::isfinite(options.max_grad_norm) && options.max_grad_norm >= 0, "step: max_grad_norm ",
             options.max_grad_norm, " must be finite and not negative");
  auto calls = active_calls();
  TARE_CHECK(!calls.empty(), "step: no parameter has a gradient; call backward() first");
  std::vector<std::string> names;
  for (Call& call : calls) {
    for (size_t i : call.members) {
      for (size_t k = 0; k < slots_[i].states.size(); ++k) make_state(i, k);
      names.push_back(params_[i].name());
    }
    call.table = &table_of(call);
  }
  kernels::begin_step(schedule_, step_state_);
  Tensor scaler = options.scaler;
  if (scaler.defined() && !options.is_unscaled) kernels::take_loss_scale(scaler, step_state_);
  find_norm(calls, options.max_grad_norm);
  run_updates(calls);
  kernels::end_step(step_state_);
  if (scaler.defined()) kernels::report_found_inf(step_state_, scaler);
  last_ = std::make_shared<StepInFlight>(step_state_, std::move(names), options.nonfinite);
  return StepHandle(last_);
}

void Optimizer::unscale_gradients(Tensor& scaler) {
  const OpScope op("optimizer");
  const auto calls = active_calls();
  TARE_CHECK(!calls.empty(), "unscale_gradients: no parameter has a gradient; call backward() first");
  for (const Call& call : calls) kernels::unscale_gradients(table_of(call), scaler);
}

NamedTensors Optimizer::state() const {
  settle();
  NamedTensors list;
  for (size_t i = 0; i < params_.size(); ++i)
    for (size_t k = 0; k < slots_[i].states.size(); ++k)
      if (slots_[i].states[k].defined())
        list.emplace_back(params_[i].name() + "." + slots_[i].layout.states[k].name, slots_[i].states[k]);
  return list;
}

std::map<std::string, std::string> Optimizer::metadata() const {
  std::map<std::string, std::string> m{{"optimizer", name()},
                                       {"version", kVersion},
                                       {"settings", settings()},
                                       {"update", std::to_string(updates())}};
  const bool meta = counts_.device().is_meta();
  const auto counts = meta ? std::vector<int64_t>(params_.size()) : counts_.to_vector<int64_t>();
  for (size_t i = 0; i < params_.size(); ++i) {
    m["step." + params_[i].name()] = std::to_string(counts[i]);
    if (!slots_[i].group.empty()) m["group." + params_[i].name()] = slots_[i].group;
  }
  return m;
}

}  // namespace tare::optim
