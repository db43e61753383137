// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/factory.h"

#include "tare/optim/adamw.h"
#include "tare/optim/sgd.h"
#include "tare/optim/spec.h"

namespace tare::optim {
namespace {

std::unique_ptr<Optimizer> make_adamw(const OptimizerSpec& spec, const std::vector<ParamGroup>& groups) {
  AdamWOptions o;
  SpecReader read(spec);
  o.lr = read.number("lr", o.lr);
  o.beta1 = read.number("beta1", o.beta1);
  o.beta2 = read.number("beta2", o.beta2);
  o.eps = read.number("eps", o.eps);
  o.weight_decay = read.number("weight_decay", o.weight_decay);
  read.finish();
  return std::make_unique<AdamW>(groups, o);
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerSpec& spec, const std::vector<ParamGroup>& groups) {
  SgdOptions o;
  SpecReader read(spec);
  o.lr = read.number("lr", o.lr);
  o.momentum = read.number("momentum", o.momentum);
  o.dampening = read.number("dampening", o.dampening);
  o.nesterov = read.flag("nesterov", o.nesterov);
  o.weight_decay = read.number("weight_decay", o.weight_decay);
  read.finish();
  return std::make_unique<Sgd>(groups, o);
}

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names{"adamw", "sgd"};
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view text, const std::vector<ParamGroup>& groups) {
  const OptimizerSpec spec = parse_spec(text);
  if (spec.name == "adamw") return make_adamw(spec, groups);
  if (spec.name == "sgd") return make_sgd(spec, groups);
  std::string list;
  for (const std::string& name : optimizer_names()) list += (list.empty() ? "" : ", ") + name;
  TARE_THROW("unknown optimizer \"", spec.name, "\": expected one of ", list);
}

}  // namespace tare::optim
