// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/adamw8bit.h"

#include <set>

namespace tare::optim {
namespace {

enum Kernel : int { kCoded, kWide };

constexpr int kCodesVersion = 1;  // of what the codes mean

bool fits(const std::string& path, const std::string& parameter) {
  return parameter == path || parameter.starts_with(path + ".");
}

// The entry of bits_of that decides on a parameter, or end().
auto override_of(const AdamW8bitOptions& o, const std::string& parameter) {
  auto best = o.bits_of.end();
  for (auto it = o.bits_of.begin(); it != o.bits_of.end(); ++it)
    if (fits(it->first, parameter) && (best == o.bits_of.end() || it->first.size() > best->first.size()))
      best = it;
  return best;
}

bool has_codes(const AdamW8bitOptions& o, const Var& p, const ParamGroup& group) {
  if (const auto it = override_of(o, p.name()); it != o.bits_of.end()) {
    TARE_CHECK(it->second == 32 || p.dtype() != DType::f64, "adamw8bit: 8 bits for ", it->first,
               ": the moments of ", p.name(), " are f64 like itself");
    return it->second == 8;
  }
  return p.dtype() != DType::f64 && p.numel() >= o.min_8bit_size && (!group.embedding || o.embeddings == 8);
}

StateLayout layout_of(const AdamW8bitOptions& o, const Var& p, const ParamGroup& group) {
  if (!has_codes(o, p, group)) {
    StateLayout layout = full_states(p, {"exp_avg", "exp_avg_sq"});
    layout.kernel = kWide;
    return layout;
  }
  const Shape blocks = {kernels::code_blocks(p.numel(), o.block)};
  StateLayout layout;
  layout.states = {{"exp_avg", p.shape(), DType::u8},
                   {"exp_avg_absmax", blocks, DType::f32},
                   {"exp_avg_sq", p.shape(), DType::u8},
                   {"exp_avg_sq_absmax", blocks, DType::f32}};
  layout.kernel = kCoded;
  return layout;
}

void check_bits(const char* what, const std::string& path, int bits) {
  TARE_CHECK(bits == 8 || bits == 32, "adamw8bit: ", what, path, " is ", bits, ", expected 8 or 32 bits");
}

// Before any layout is made with them.
const AdamW8bitOptions& checked(const AdamW8bitOptions& o, const std::vector<ParamGroup>& groups) {
  check_adam_options("adamw8bit", o.adam);
  kernels::check_code_block("adamw8bit", o.block);
  kernels::code_map(o.map, true);
  kernels::code_map(o.map_v, false);
  TARE_CHECK(o.min_8bit_size >= 0, "adamw8bit: min_8bit_size ", o.min_8bit_size, " must not be negative");
  check_bits("embeddings", "", o.embeddings);
  for (const auto& [path, bits] : o.bits_of) {
    check_bits("bits_of ", path, bits);
    bool used = false;
    for (const ParamGroup& group : groups)
      for (const Var& p : group.params) used = used || fits(path, p.name());
    TARE_CHECK(used, "adamw8bit: ", bits, " bits for \"", path, "\", which is no parameter or module");
  }
  return o;
}

}  // namespace

AdamW8bit::AdamW8bit(const std::vector<ParamGroup>& groups, const AdamW8bitOptions& options)
    : Optimizer(groups, options.adam.lr, options.adam.weight_decay,
                [&o = checked(options, groups)](const Var& p, const ParamGroup& group) {
                  return layout_of(o, p, group);
                }),
      options_(options) {}

std::string AdamW8bit::settings() const {
  std::string bits;
  for (const auto& [path, wanted] : options_.bits_of) bits += detail::concat(",bits.", path, "=", wanted);
  return detail::concat(adam_settings(options_.adam), ",codes=", kCodesVersion, ",block=", options_.block,
                        ",map=", name_of(options_.map), ",map_v=", name_of(options_.map_v),
                        ",embeddings=", options_.embeddings, ",min_8bit_size=", options_.min_8bit_size, bits);
}

void AdamW8bit::update(int kernel, const TensorTable& table, const Tensor& step_state) {
  const AdamWOptions& a = options_.adam;
  if (kernel == kWide)
    kernels::adamw_update(table, {a.beta1, a.beta2, a.eps}, step_state);
  else
    kernels::adamw8bit_update(table, {a.beta1, a.beta2, a.eps, options_.block, options_.map, options_.map_v},
                              step_state);
}

}  // namespace tare::optim
