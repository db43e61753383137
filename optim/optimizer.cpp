// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/optimizer.h"

#include <cmath>
#include <set>

#include "tare/core/json.h"
#include "tare/core/scope.h"
#include "tare/kernels/grad_norm.h"
#include "tare/kernels/step.h"
#include "tare/optim/schedule.h"

namespace tare::optim {
namespace {

constexpr const char* kVersion = "2";  // of the layout of states and metadata

DType state_dtype_of(const Var& v) { return v.dtype() == DType::f64 ? DType::f64 : DType::f32; }

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

Optimizer::Optimizer(const std::vector<ParamGroup>& groups, double lr, double weight_decay,
                     std::vector<std::string> states)
    : state_names_(std::move(states)) {
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
      slots_.push_back({group.lr_factor, decay, text, std::vector<Tensor>(state_names_.size())});
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
  for (const Var& p : params_) bytes += p.numel() * size_of(state_dtype_of(p)) * int64_t(state_names_.size());
  return bytes;
}

void Optimizer::zero_grad(bool keep_memory) {
  for (Var& p : params_) p.zero_grad(keep_memory);
}

void Optimizer::make_state(size_t i, size_t k) {
  Tensor& state = slots_[i].states[k];
  if (!state.defined())
    state = Tensor::zeros(params_[i].shape(),
                          {state_dtype_of(params_[i]), params_[i].device(), Category::optimizer_state});
}

// Parameters with a gradient, grouped by the dtypes of parameter and gradient; each group is one kernel call.
std::vector<std::vector<size_t>> Optimizer::active_by_dtype() const {
  std::map<std::pair<DType, DType>, std::vector<size_t>> by_dtype;
  for (size_t i = 0; i < params_.size(); ++i)
    if (const Tensor grad = params_[i].grad(); grad.defined())
      by_dtype[{params_[i].dtype(), grad.dtype()}].push_back(i);
  std::vector<std::vector<size_t>> groups;
  for (auto& [dtypes, members] : by_dtype) groups.push_back(std::move(members));
  return groups;
}

const TensorTable& Optimizer::table_of(const std::vector<size_t>& members) {
  std::vector<TensorEntry> entries;
  auto* counts = static_cast<int64_t*>(address_of(counts_));
  for (size_t i : members) {
    const Slot& slot = slots_[i];
    TensorEntry e;
    e.param = address_of(params_[i].value());
    e.grad = address_of(params_[i].grad());
    if (slot.states.size() > 0) e.state1 = address_of(slot.states[0]);
    if (slot.states.size() > 1) e.state2 = address_of(slot.states[1]);
    if (counts) e.updates = counts + i;
    e.numel = params_[i].numel();
    e.lr_factor = slot.lr_factor;
    e.weight_decay = slot.weight_decay;
    entries.push_back(e);
  }
  const Var& first = params_[members.front()];
  const DType grad = first.grad().dtype();
  Cached& cached = tables_[{first.dtype(), grad}];
  if (cached.entries != entries) {
    cached.entries = entries;
    cached.table =
        TensorTable(std::move(entries), first.dtype(), grad, state_dtype_of(first), first.device());
  }
  return cached.table;
}

void Optimizer::find_norm(const std::vector<const TensorTable*>& tables, double max_norm) {
  int64_t bytes = 0, index = 0;
  for (const TensorTable* table : tables) bytes = std::max(bytes, kernels::grad_norm_scratch_bytes(*table));
  if (!norm_scratch_.defined() || norm_scratch_.nbytes() < bytes)
    norm_scratch_ = Tensor::empty({bytes}, {DType::u8, params_[0].device(), Category::workspace});
  for (const TensorTable* table : tables) {
    kernels::grad_norm(*table, index, norm_scratch_, step_state_);
    index += table->count();
  }
  kernels::finish_grad_norm(max_norm, step_state_);
}

StepHandle Optimizer::step(const StepOptions& options) {
  const OpScope op("optimizer");
  settle();
  TARE_CHECK(std::isfinite(options.max_grad_norm) && options.max_grad_norm >= 0, "step: max_grad_norm ",
             options.max_grad_norm, " must be finite and not negative");
  const auto groups = active_by_dtype();
  TARE_CHECK(!groups.empty(), "step: no parameter has a gradient; call backward() first");
  std::vector<const TensorTable*> tables;
  std::vector<std::string> names;
  for (const auto& members : groups) {
    for (size_t i : members) {
      for (size_t k = 0; k < state_names_.size(); ++k) make_state(i, k);
      names.push_back(params_[i].name());
    }
    tables.push_back(&table_of(members));
  }
  kernels::begin_step(schedule_, step_state_);
  find_norm(tables, options.max_grad_norm);
  for (const TensorTable* table : tables) {
    update(*table, step_state_);
    kernels::count_update(*table, step_state_);
  }
  kernels::end_step(step_state_);
  // Whether or not it stepped, which only the device knows.
  for (const auto& members : groups)
    for (size_t i : members) params_[i].mutable_value().bump_version();
  last_ = std::make_shared<StepInFlight>(step_state_, std::move(names), options.nonfinite);
  return StepHandle(last_);
}

NamedTensors Optimizer::state() const {
  settle();
  NamedTensors list;
  for (size_t i = 0; i < params_.size(); ++i)
    for (size_t k = 0; k < state_names_.size(); ++k)
      if (slots_[i].states[k].defined())
        list.emplace_back(params_[i].name() + "." + state_names_[k], slots_[i].states[k]);
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
