// SPDX-License-Identifier: Apache-2.0
// Module: a tree of named parameters. A module's children are its members, so modules are neither copied nor
// moved; each class has a forward of its own signature, which opens a ForwardScope.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tare/autograd/var.h"
#include "tare/core/scope.h"
#include "tare/nn/init.h"
#include "tare/nn/state.h"

namespace tare::nn {

// Where a module's parameters live. On kMeta they have shapes but no bytes: counting and planning cost
// nothing.
struct ModuleOptions {
  DType dtype = DType::f32;
  Device device = kCpu;
};

struct NamedParameter {
  std::string name;  // below the module that was asked: "h.3.attn.c_attn.weight"
  Var* var;          // the module's own member
};

// Parameters that an optimizer treats alike.
struct ParameterGroup {
  std::string name;
  Vars parameters;  // they share values and gradients with the module's
};

struct Footprint {
  int64_t parameters = 0;       // elements, tied ones once
  int64_t parameter_bytes = 0;  // as they are stored
  int64_t gradient_bytes = 0;   // once every parameter that wants a gradient has one
};

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const { return name_; }  // within the parent; "" for a root
  std::string path() const;                          // from the root: "h.3.attn"
  virtual std::string describe() const = 0;          // for the printed tree: "Linear(768 -> 2304)"

  // Own parameters first, then the children's, each in the order of registration. A parameter that is
  // registered twice (tied) is listed once, under its first name. Also gives each leaf its full name.
  std::vector<NamedParameter> named_parameters();
  Vars parameters();
  // Those that are tables of rows looked up by index, wherever else they are tied to.
  Vars embedding_tables();
  // The parameter of that name; Error when there is none.
  Var& parameter(const std::string& name);

  // Those that want a gradient, split as weight decay is usually applied: "decay" (two dimensions or more)
  // and "no_decay" (biases and norm parameters).
  std::vector<ParameterGroup> parameter_groups();
  // Split by a function of name and parameter that returns the group's name, or "" to leave one out; groups
  // in order of first appearance.
  using GroupOf = std::function<std::string(const std::string& name, const Var& var)>;
  std::vector<ParameterGroup> parameter_groups(const GroupOf& group_of);

  int64_t num_parameters() const;  // tied ones once
  Footprint footprint() const;
  // One line per module with elements and bytes; runs of equal siblings share a line.
  void print_tree(std::ostream& os) const;

  void train(bool on = true);  // training behaviour (dropout) on or off, here and below
  void eval() { train(false); }
  bool training() const { return training_; }
  void zero_grad(bool keep_memory = false);
  void set_requires_grad(bool wanted);  // false freezes the module and frees its gradients

  // Gives every parameter its first values, from (seed, full name).
  void initialize(uint64_t seed);

  // Error if a parameter of this module itself (not of its children) never got a value.
  void check_has_values() const;

  // Names and values; the tensors share the parameters' storage.
  NamedTensors state();
  // Copies values of the same names into the parameters, converting dtypes. Error that lists every missing,
  // unexpected and mismatched name unless all fit (`strict`) or, not strict, if a shape differs. Nothing is
  // changed where it throws.
  LoadReport load_state(const NamedTensors& state, bool strict = true);

 protected:
  // Allocates `var` without values: initialize() or load_state() must follow before a forward.
  void register_parameter(const std::string& name, Var& var, const Shape& shape, const Init& init,
                          const ModuleOptions& options);
  // The same for a table of rows that are looked up by index.
  void register_embedding(const std::string& name, Var& var, const Shape& shape, const Init& init,
                          const ModuleOptions& options);
  // Lists a parameter that exists elsewhere in the tree (tied): no memory of its own.
  void register_tied(const std::string& name, Var& var);
  // `child` is a member. Its name may have dots: "h.3".
  void register_module(const std::string& name, Module& child);

 private:
  friend class EvalScope;
  struct Parameter {
    std::string name;
    Var* var;
    Init init;
    bool tied;
    bool embedding;
  };
  struct TreeRow;

  void walk(const std::string& prefix,
            const std::function<void(const std::string&, const Parameter&)>& f) const;
  // Each parameter once, with its name below this module; `on_tied` sees the repetitions and what they
  // repeat.
  using OnTied = std::function<void(const Parameter& again, const Parameter& first)>;
  std::vector<std::pair<std::string, const Parameter*>> distinct_parameters(const OnTied& on_tied = {}) const;
  void check_name(const std::string& name) const;
  std::vector<TreeRow> tree_rows(const std::string& label, int depth) const;

  std::string name_;
  Module* parent_ = nullptr;
  bool training_ = true;
  std::vector<Parameter> parameters_;
  std::vector<Module*> children_;
};

// The first line of every forward: while it lives, the calling thread is inside the module (ledger labels,
// streams of random numbers). Error if a parameter of the module never got a value.
class ForwardScope {
 public:
  explicit ForwardScope(const Module& module);

 private:
  std::optional<PathScope> path_;  // none for a root
};

// While it lives, the module is in eval mode and nothing is recorded. Afterwards each module below it is in
// the mode it was in.
class EvalScope {
 public:
  explicit EvalScope(Module& module);
  ~EvalScope();
  EvalScope(const EvalScope&) = delete;
  EvalScope& operator=(const EvalScope&) = delete;

 private:
  std::vector<std::pair<Module*, bool>> was_training_;
  NoGradGuard no_grad_;
};

}  // namespace tare::nn
