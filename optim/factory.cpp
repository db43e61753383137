// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/factory.h"

#include "tare/core/json.h"
#include "tare/optim/adafactor.h"
#include "tare/optim/adamw.h"
#include "tare/optim/adamw8bit.h"
#include "tare/optim/sgd.h"

namespace tare::optim {
namespace {

using Groups = std::vector<ParamGroup>;
using Made = std::unique_ptr<Optimizer>;

std::string text(double value) { return Json(value).dump(); }
std::string text(bool value) { return value ? "true" : "false"; }

// ---- AdamW

AdamWOptions read_adamw(SpecReader& read) {
  AdamWOptions o;
  o.lr = read.number("lr", o.lr);
  o.beta1 = read.number("beta1", o.beta1);
  o.beta2 = read.number("beta2", o.beta2);
  o.eps = read.number("eps", o.eps);
  o.weight_decay = read.number("weight_decay", o.weight_decay);
  return o;
}

std::vector<OptimizerOption> adamw_options() {
  const AdamWOptions o;
  return {{"lr", text(o.lr), "learning rate"},
          {"beta1", text(o.beta1), "share of the mean that stays"},
          {"beta2", text(o.beta2), "share of the mean square that stays"},
          {"eps", text(o.eps), "added to the root of the mean square"},
          {"weight_decay", text(o.weight_decay), "share of lr by which matrices shrink"}};
}

Made make_adamw(const OptimizerSpec& spec, const Groups& groups) {
  SpecReader read(spec);
  const AdamWOptions o = read_adamw(read);
  read.finish();
  return std::make_unique<AdamW>(groups, o);
}

OptimizerInfo adamw_info() {
  return {"adamw", "Adam with decoupled weight decay, in torch's order",
          "Loshchilov and Hutter 2019, arXiv:1711.05101", adamw_options(), make_adamw};
}

// ---- AdamW in 8 bits

// "wte+h.0.attn": paths, separated by plus signs.
void read_paths(const std::string& list, int bits, std::map<std::string, int>& bits_of) {
  for (size_t begin = 0; begin <= list.size() && !list.empty();) {
    const size_t end = std::min(list.find('+', begin), list.size());
    const std::string path = list.substr(begin, end - begin);
    TARE_CHECK(!path.empty() && bits_of.emplace(path, bits).second, "adamw8bit: ", bits, "bit=", list, ": ",
               path.empty() ? "an empty path" : path + " stands twice");
    begin = end + 1;
  }
}

Made make_adamw8bit(const OptimizerSpec& spec, const Groups& groups) {
  AdamW8bitOptions o;
  SpecReader read(spec);
  o.adam = read_adamw(read);
  o.block = read.integer("block", o.block);
  o.map = kernels::quant_map_from_name(read.word("map", std::string(name_of(o.map))));
  o.map_v = kernels::quant_map_from_name(read.word("map_v", std::string(name_of(o.map_v))));
  o.embeddings = int(read.integer("embeddings", o.embeddings));
  o.min_8bit_size = read.integer("min_8bit_size", o.min_8bit_size);
  read_paths(read.word("8bit", ""), 8, o.bits_of);
  read_paths(read.word("32bit", ""), 32, o.bits_of);
  read.finish();
  return std::make_unique<AdamW8bit>(groups, o);
}

OptimizerInfo adamw8bit_info() {
  const AdamW8bitOptions o;
  OptimizerInfo info{"adamw8bit", "AdamW with both means in blocks of 8-bit codes",
                     "Dettmers et al. 2022, arXiv:2110.02861", adamw_options(), make_adamw8bit};
  for (const OptimizerOption& option : std::initializer_list<OptimizerOption>{
           {"block", std::to_string(o.block), "elements that share a scale; a multiple of 32"},
           {"map", std::string(name_of(o.map)), "codes of the mean: bnb, or symmetric, which has -1"},
           {"map_v", std::string(name_of(o.map_v)), "codes of the mean square: bnb, or zero-free"},
           {"embeddings", std::to_string(o.embeddings), "bits for the tables of embeddings: 8 or 32"},
           {"min_8bit_size", std::to_string(o.min_8bit_size), "tensors of fewer elements have 32 bits"},
           {"8bit", "", "modules or parameters that have 8 bits, as wpe+h.0", true},
           {"32bit", "", "modules or parameters that have 32 bits, as wte+h.0.attn", true}})
    info.options.push_back(option);
  return info;
}

// ---- Adafactor

Made make_adafactor(const OptimizerSpec& spec, const Groups& groups) {
  AdafactorOptions o;
  SpecReader read(spec);
  const auto number = [&](const char* key, std::optional<double>& value) {
    if (read.has(key)) value = read.number(key, 0);
  };
  const auto flag = [&](const char* key, std::optional<bool>& value) {
    if (read.has(key)) value = read.flag(key, false);
  };
  o.preset = adafactor_preset_from_name(read.word("preset", std::string(name_of(o.preset))));
  if (read.has("factor")) o.factor = adafactor_factor_from_name(read.word("factor", ""));
  number("lr", o.lr);
  flag("relative_step", o.relative_step);
  flag("warmup_init", o.warmup_init);
  flag("scale_parameter", o.scale_parameter);
  o.clip_threshold = read.number("clip_threshold", o.clip_threshold);
  o.decay_rate = read.number("decay_rate", o.decay_rate);
  number("beta1", o.beta1);
  number("eps1", o.eps1);
  number("eps2", o.eps2);
  o.weight_decay = read.number("weight_decay", o.weight_decay);
  read.finish();
  return std::make_unique<Adafactor>(groups, o);
}

OptimizerInfo adafactor_info() {
  const AdafactorOptions o;
  return {
      "adafactor",
      "mean squares of a matrix as those of its rows and columns; steps relative to the parameter's size",
      "Shazeer and Stern 2018, arXiv:1804.04235",
      {{"preset", std::string(name_of(o.preset)), "arithmetic: hf, torch, or paper (hf with factor=2d)"},
       {"factor", "last", "matrices: last two dimensions, or 2d, the whole seen as one (paper: 2d)"},
       {"lr", "", "learning rate; without one the step is relative (torch: 0.01, at most 1 / sqrt(t))"},
       {"relative_step", "true", "rate min(1e-2, 1 / sqrt(t)); false where there is an lr"},
       {"warmup_init", text(false), "rate min(1e-6 t, 1 / sqrt(t)) instead"},
       {"scale_parameter", text(true), "steps are times max(eps2, RMS(p))"},
       {"clip_threshold", text(o.clip_threshold), "greatest RMS of an update before it is scaled"},
       {"decay_rate", text(o.decay_rate), "the mean squares of step t keep 1 - t^decay_rate"},
       {"beta1", "0", "share of a mean of steps that stays; 4 bytes more per parameter"},
       {"eps1", "1e-30", "added to squared gradients; torch: 1.2e-7, bounds the mean square's root"},
       {"eps2", "0.001", "least RMS of a parameter that counts"},
       {"weight_decay", text(o.weight_decay), "share of the step (torch: of lr) by which matrices shrink"}},
      make_adafactor};
}

// ---- SGD

Made make_sgd(const OptimizerSpec& spec, const Groups& groups) {
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

OptimizerInfo sgd_info() {
  const SgdOptions o;
  return {"sgd",
          "stochastic gradient descent; 4 bytes more per parameter with momentum",
          "Sutskever et al. 2013, ICML",
          {{"lr", text(o.lr), "learning rate"},
           {"momentum", text(o.momentum), "share of the buffer that stays; 0 has no buffer"},
           {"dampening", text(o.dampening), "share of a gradient that does not enter the buffer"},
           {"nesterov", text(o.nesterov), "looks one step of momentum ahead"},
           {"weight_decay", text(o.weight_decay), "times the parameter, added to the gradient"}},
          make_sgd};
}

const OptimizerInfo& info_of(const OptimizerSpec& spec) {
  std::string list;
  for (const OptimizerInfo& info : optimizers()) {
    if (info.name == spec.name) return info;
    list += (list.empty() ? "" : ", ") + info.name;
  }
  TARE_THROW("unknown optimizer \"", spec.name, "\": expected one of ", list);
}

}  // namespace

const std::vector<OptimizerInfo>& optimizers() {
  static const std::vector<OptimizerInfo> list{adamw_info(), adamw8bit_info(), adafactor_info(), sgd_info()};
  return list;
}

double OptimizerInfo::bytes_per_parameter() const {
  const Tensor matrix = Tensor::empty({1024, 1024}, {DType::f32, kMeta, {}});
  const auto optimizer = make(parse_spec(name), {{{Var::parameter(matrix, "matrix")}}});
  return double(optimizer->state_bytes()) / double(matrix.numel());
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerInfo& info : optimizers()) names.push_back(info.name);
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view text, const Groups& groups) {
  const OptimizerSpec spec = parse_spec(text);
  return info_of(spec).make(spec, groups);
}

std::unique_ptr<Optimizer> make_trial_optimizer(std::string_view text) {
  OptimizerSpec spec = parse_spec(text);
  const OptimizerInfo& info = info_of(spec);
  for (const OptimizerOption& option : info.options)
    if (option.names_parameters) spec.options.erase(option.name);
  return info.make(spec, {{{Var::parameter(Tensor::zeros({1}), "any")}}});
}

}  // namespace tare::optim
