// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/module.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tare::nn {
namespace {

std::string join(const std::string& prefix, const std::string& name) {
  return prefix.empty() || name.empty() ? prefix + name : prefix + "." + name;
}

DType gradient_dtype(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

}  // namespace

// ---- the tree

std::string Module::path() const { return parent_ ? join(parent_->path(), name_) : name_; }

void Module::check_name(const std::string& name) const {
  TARE_CHECK(!name.empty() && name.front() != '.' && name.back() != '.', describe(), ": \"", name,
             "\" is no name for a parameter or module");
  for (const Parameter& p : parameters_)
    TARE_CHECK(p.name != name, describe(), ": the name \"", name, "\" is registered twice");
  for (const Module* child : children_)
    TARE_CHECK(child->name_ != name, describe(), ": the name \"", name, "\" is registered twice");
}

void Module::register_parameter(const std::string& name, Var& var, const Shape& shape, const Init& init,
                                const ModuleOptions& options) {
  check_name(name);
  var = Var::parameter(Tensor::empty(shape, {options.dtype, options.device, Category::parameters}), name);
  parameters_.push_back({name, &var, init, false, false});
}

void Module::register_embedding(const std::string& name, Var& var, const Shape& shape, const Init& init,
                                const ModuleOptions& options) {
  register_parameter(name, var, shape, init, options);
  parameters_.back().embedding = true;
}

void Module::register_tied(const std::string& name, Var& var) {
  check_name(name);
  TARE_CHECK(var.defined(), describe(), ": the parameter to be tied as \"", name, "\" does not exist yet");
  parameters_.push_back({name, &var, {}, true, false});
}

void Module::register_module(const std::string& name, Module& child) {
  check_name(name);
  TARE_CHECK(&child != this && child.parent_ == nullptr, describe(), ": the module \"", name,
             "\" already has a parent");
  child.name_ = name;
  child.parent_ = this;
  children_.push_back(&child);
}

void Module::walk(const std::string& prefix,
                  const std::function<void(const std::string&, const Parameter&)>& f) const {
  for (const Parameter& p : parameters_) f(join(prefix, p.name), p);
  for (const Module* child : children_) child->walk(join(prefix, child->name_), f);
}

std::vector<std::pair<std::string, const Module::Parameter*>> Module::distinct_parameters(
    const OnTied& on_tied) const {
  std::vector<std::pair<std::string, const Parameter*>> distinct;
  std::unordered_map<const Storage*, const Parameter*> seen;
  // Each parameter owns its storage, so sharing one means being tied.
  walk("", [&](const std::string& name, const Parameter& p) {
    const auto [it, first] = seen.emplace(p.var->value().storage().get(), &p);
    if (first)
      distinct.emplace_back(name, &p);
    else if (on_tied)
      on_tied(p, *it->second);
  });
  return distinct;
}

std::vector<NamedParameter> Module::named_parameters() {
  const std::string here = path();
  std::vector<NamedParameter> named;
  for (const auto& [name, p] : distinct_parameters()) {
    if (p->var->node()) p->var->set_name(join(here, name));
    named.push_back({name, p->var});
  }
  return named;
}

Vars Module::parameters() {
  Vars vars;
  for (const NamedParameter& p : named_parameters()) vars.push_back(*p.var);
  return vars;
}

Vars Module::embedding_tables() {
  std::unordered_set<const Storage*> tables;
  walk("", [&](const std::string&, const Parameter& p) {
    if (p.embedding) tables.insert(p.var->value().storage().get());
  });
  Vars vars;
  for (const NamedParameter& p : named_parameters())
    if (tables.contains(p.var->value().storage().get())) vars.push_back(*p.var);
  return vars;
}

Var& Module::parameter(const std::string& name) {
  Var* found = nullptr;
  walk("", [&](const std::string& n, const Parameter& p) {
    if (n == name) found = p.var;
  });
  TARE_CHECK(found, describe(), " has no parameter \"", name, "\"");
  return *found;
}

// ---- groups and sizes

std::vector<ParameterGroup> Module::parameter_groups() {
  return parameter_groups([](const std::string&, const Var& var) {
    return std::string(!var.requires_grad() ? "" : var.dim() >= 2 ? "decay" : "no_decay");
  });
}

std::vector<ParameterGroup> Module::parameter_groups(const GroupOf& group_of) {
  std::vector<ParameterGroup> groups;
  for (const NamedParameter& p : named_parameters()) {
    const std::string group = group_of(p.name, *p.var);
    if (group.empty()) continue;
    const auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == group; });
    if (it == groups.end())
      groups.push_back({group, {*p.var}});
    else
      it->parameters.push_back(*p.var);
  }
  return groups;
}

int64_t Module::num_parameters() const { return footprint().parameters; }

Footprint Module::footprint() const {
  Footprint f;
  for (const auto& [name, p] : distinct_parameters()) {
    f.parameters += p->var->numel();
    f.parameter_bytes += p->var->value().nbytes();
    if (p->var->requires_grad())
      f.gradient_bytes += p->var->numel() * size_of(gradient_dtype(p->var->dtype()));
  }
  return f;
}

// ---- modes, gradients, values

void Module::train(bool on) {
  training_ = on;
  for (Module* child : children_) child->train(on);
}

void Module::zero_grad(bool keep_memory) {
  for (const auto& [name, p] : distinct_parameters()) p->var->zero_grad(keep_memory);
}

void Module::set_requires_grad(bool wanted) {
  for (const auto& [name, p] : distinct_parameters()) p->var->set_requires_grad(wanted);
}

void Module::initialize(uint64_t seed) {
  const std::string here = path();
  for (const auto& [name, p] : distinct_parameters())
    nn::initialize(p->var->mutable_value(), p->init, seed, join(here, name));
}

void Module::check_has_values() const {
  for (const Parameter& p : parameters_)
    TARE_CHECK(p.tied || p.var->device().is_meta() || p.var->value().version() > 0 || p.var->numel() == 0,
               describe(), " \"", path(), "\": the parameter \"", p.name,
               "\" has no values yet; call initialize(seed) or load them");
}

NamedTensors Module::state() {
  NamedTensors tensors;
  for (const NamedParameter& p : named_parameters()) tensors.emplace_back(p.name, p.var->value());
  return tensors;
}

LoadReport Module::load_state(const NamedTensors& state, bool strict) {
  std::unordered_map<std::string, const Tensor*> given;
  for (const auto& [name, tensor] : state)
    TARE_CHECK(given.emplace(name, &tensor).second, "load_state: the name \"", name, "\" comes twice");
  LoadReport report;
  std::vector<std::pair<Var*, const Tensor*>> copies;
  for (const NamedParameter& p : named_parameters()) {
    const auto it = given.find(p.name);
    if (it == given.end()) {
      report.missing.push_back(p.name);
      continue;
    }
    const Tensor& tensor = *it->second;
    given.erase(it);
    if (tensor.shape() == p.var->shape())
      copies.emplace_back(p.var, &tensor);
    else
      report.mismatched.push_back(detail::concat(p.name, " (", tensor.shape(), " for ", p.var->shape(), ")"));
  }
  for (const auto& [name, tensor] : state)
    if (given.count(name)) report.unexpected.push_back(name);
  TARE_CHECK(strict ? report.ok() : report.mismatched.empty(), "cannot load the values of ", describe(),
             ":\n", report.str());
  for (const auto& [var, tensor] : copies) copy(*tensor, var->mutable_value());
  return report;
}

// ---- scopes

ForwardScope::ForwardScope(const Module& module) {
  module.check_has_values();
  if (!module.name().empty()) path_.emplace(module.name());
}

EvalScope::EvalScope(Module& module) {
  std::vector<Module*> stack{&module};
  while (!stack.empty()) {
    Module* m = stack.back();
    stack.pop_back();
    was_training_.emplace_back(m, std::exchange(m->training_, false));
    stack.insert(stack.end(), m->children_.begin(), m->children_.end());
  }
}

EvalScope::~EvalScope() {
  for (const auto& [module, was_training] : was_training_) module->training_ = was_training;
}

}  // namespace tare::nn
