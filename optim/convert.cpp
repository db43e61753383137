// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/convert.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tare/kernels/codes8.h"
#include "tare/optim/factory.h"
#include "tare/optim/spec.h"

namespace tare::optim {
namespace {

using kernels::CodeFormat;
using kernels::QuantMap;

using ByName = std::map<std::string, Tensor>;

// One moment of one parameter: in full, or as codes.
struct Moment {
  Tensor values;  // codes where `format` is set
  Tensor absmax = {};
  std::optional<CodeFormat> format = std::nullopt;
  std::vector<float> map = {};  // instead of the format's own values, where they are known to differ
};

// How an optimizer with these settings codes a moment; nothing for adamw.
std::optional<CodeFormat> format_of(const std::string& optimizer, const std::string& settings,
                                    bool is_signed) {
  TARE_CHECK(optimizer == "adamw" || optimizer == "adamw8bit", "convert: states of ", optimizer,
             " are not those of adamw or adamw8bit");
  if (optimizer == "adamw") return std::nullopt;
  const auto parts = parse_settings(settings);
  const auto part = [&](const char* key) {
    const auto it = parts.find(key);
    TARE_CHECK(it != parts.end(), "convert: the settings of adamw8bit, ", settings, ", have no ", key);
    return it->second;
  };
  TARE_CHECK(part("codes") == "1", "convert: codes of version ", part("codes"), ", this Tare reads 1");
  const OptimizerSpec spec{"adamw8bit", {{"block", part("block")}}, settings};
  return CodeFormat{SpecReader(spec).integer("block", 0),
                    kernels::quant_map_from_name(part(is_signed ? "map" : "map_v")), is_signed};
}

template <class T> void check_finite(const std::string& name, const Tensor& x) {
  const Tensor dense = x.contiguous();
  const T* values = dense.data<T>();
  for (int64_t i = 0; i < dense.numel(); ++i)
    TARE_CHECK(std::isfinite(values[i]), "convert: \"", name, "\" has ", values[i], " at ", i,
               ", expected finite numbers");
}

Tensor take(ByName& from, const std::string& name, DType dtype, const Shape& shape) {
  const auto it = from.find(name);
  TARE_CHECK(it != from.end(), "convert: \"", name, "\" is missing");
  TARE_CHECK(it->second.dtype() == dtype && it->second.shape() == shape, "convert: \"", name, "\" is ",
             it->second.shape(), " of ", it->second.dtype(), ", expected ", shape, " of ", dtype);
  if (dtype == DType::f32) check_finite<float>(name, it->second);
  if (dtype == DType::f64) check_finite<double>(name, it->second);
  Tensor found = it->second;
  from.erase(it);
  return found;
}

Tensor like(const Shape& shape, DType dtype) { return Tensor::empty(shape, {dtype, kCpu, {}}); }

Tensor decoded(const Moment& m) {
  if (!m.format) return m.values;
  Tensor x = like(m.values.shape(), DType::f32);
  if (m.map.empty()) {
    kernels::decode_blocks(m.values, m.absmax, *m.format, x);
    return x;
  }
  const auto* codes = m.values.data<uint8_t>();
  const auto* absmax = m.absmax.data<float>();
  auto* out = x.mutable_data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = m.map[codes[i]] * absmax[i / m.format->block];
  return x;
}

bool same_codes(const CodeFormat& a, const CodeFormat& b) {
  return a.block == b.block && a.map == b.map && a.is_signed == b.is_signed;
}

// Adds a moment as the layout has it: spec names it, `wanted` says how `to` codes it where its dtype is u8.
void add_moment(const std::string& name, const Moment& m, DType dtype,
                const std::optional<CodeFormat>& wanted, NamedTensors& out) {
  if (dtype != DType::u8) {
    out.emplace_back(name, decoded(m));
    return;
  }
  Tensor codes = m.values, absmax = m.absmax;
  if (!m.format || !same_codes(*m.format, *wanted)) {
    const Tensor x = decoded(m);
    codes = like(x.shape(), DType::u8);
    absmax = like({kernels::code_blocks(x.numel(), wanted->block)}, DType::f32);
    kernels::encode_blocks(x.contiguous(), *wanted, codes, absmax);
  }
  out.emplace_back(name, codes);
  out.emplace_back(name + "_absmax", absmax);
}

struct MomentName {
  const char* name;
  bool is_signed;
};
constexpr MomentName kMoments[] = {{"exp_avg", true}, {"exp_avg_sq", false}};

DType dtype_in(const StateLayout& layout, const char* name) {
  for (const StateSpec& spec : layout.states)
    if (spec.name == name) return spec.dtype;
  TARE_THROW("convert: the optimizer has no state ", name);
}

ByName by_name(const NamedTensors& tensors) {
  ByName map;
  for (const auto& [name, tensor] : tensors)
    TARE_CHECK(map.emplace(name, tensor).second, "convert: \"", name, "\" stands twice");
  return map;
}

void check_nothing_left(const ByName& rest) {
  TARE_CHECK(rest.empty(), "convert: \"", rest.begin()->first, "\" belongs to no parameter of this run");
}

// bitsandbytes' block, from how many there are.
int64_t block_of(const std::string& name, int64_t numel, int64_t blocks) {
  for (int64_t block : {256, 2048})
    if (kernels::code_blocks(numel, block) == blocks) return block;
  TARE_THROW("import: \"", name, "\" has ", blocks, " blocks for ", numel, " elements, expected ",
             kernels::code_blocks(numel, 256), " of 256 or ", kernels::code_blocks(numel, 2048), " of 2048");
}

// number: 1 or 2.
Moment take_bitsandbytes(ByName& from, const Var& p, int number) {
  const auto name = [&](const char* what) { return detail::concat(p.name(), ".", what, number); };
  const auto it = from.find(name("state"));
  TARE_CHECK(it != from.end(), "import: \"", name("state"), "\" is missing");
  if (it->second.dtype() != DType::u8) return {take(from, name("state"), DType::f32, p.shape())};
  Moment m{take(from, name("state"), DType::u8, p.shape())};
  const auto absmax = from.find(name("absmax"));
  TARE_CHECK(absmax != from.end(), "import: \"", name("absmax"), "\" is missing");
  const int64_t blocks = absmax->second.numel();
  m.absmax = take(from, name("absmax"), DType::f32, {blocks});
  m.format = CodeFormat{block_of(name("absmax"), p.numel(), blocks), QuantMap::bnb, number == 1};
  if (from.contains(name("qmap"))) {
    m.map = take(from, name("qmap"), DType::f32, {256}).to_vector<float>();
    const auto& own = kernels::code_map(QuantMap::bnb, number == 1).values;
    for (size_t c = 0; c < own.size(); ++c)
      TARE_CHECK(std::fabs(m.map[c] - own[c]) <= 1e-6f * std::fabs(own[c]), "import: \"", name("qmap"),
                 "\" has ", m.map[c], " for code ", c, ", the dynamic map has ", own[c]);
  }
  return m;
}

int64_t take_step(ByName& from, const std::string& name) {
  const auto it = from.find(name);
  TARE_CHECK(it != from.end() && it->second.numel() == 1, "import: \"", name,
             "\" is missing or no single number");
  const auto step = it->second.to(DType::f64).item<double>();
  TARE_CHECK(step >= 1 && step == std::floor(step) && step < 0x1p53, "import: \"", name, "\" is ", step,
             ", expected a count of updates");
  from.erase(it);
  return int64_t(step);
}

}  // namespace

SavedStates convert_states(const SavedStates& from, const Optimizer& to) {
  const auto given = [&](const char* key) {
    const auto it = from.metadata.find(key);
    TARE_CHECK(it != from.metadata.end(), "convert: the metadata has no \"", key, "\"");
    return it->second;
  };
  ByName rest = by_name(from.state);
  SavedStates out{{}, from.metadata};
  out.metadata["optimizer"] = to.name();
  out.metadata["settings"] = to.settings();
  const auto is_group = [](const auto& field) { return field.first.starts_with("group."); };
  std::erase_if(out.metadata, is_group);
  for (const auto& field : to.metadata())
    if (is_group(field)) out.metadata.insert(field);
  for (size_t i = 0; i < to.params().size(); ++i) {
    const Var& p = to.params()[i];
    if (!rest.contains(p.name() + ".exp_avg")) continue;
    for (const auto& [moment, is_signed] : kMoments) {
      const auto was = format_of(given("optimizer"), given("settings"), is_signed),
                 wanted = format_of(to.name(), to.settings(), is_signed);
      const std::string name = p.name() + "." + moment;
      const bool coded = rest.contains(name + "_absmax");
      Moment m{take(rest, name, coded ? DType::u8 : wide_dtype_of(p), p.shape())};
      if (coded) {
        TARE_CHECK(was, "convert: adamw has no \"", name, "_absmax\"");
        m.format = was;
        m.absmax = take(rest, name + "_absmax", DType::f32, {kernels::code_blocks(p.numel(), was->block)});
      }
      add_moment(name, m, dtype_in(to.layout(i), moment), wanted, out.state);
    }
  }
  check_nothing_left(rest);
  return out;
}

SavedStates import_bitsandbytes(const NamedTensors& dump, const Optimizer& to) {
  ByName rest = by_name(dump);
  SavedStates out{{}, to.metadata()};
  int64_t updates = 0;
  for (size_t i = 0; i < to.params().size(); ++i) {
    const Var& p = to.params()[i];
    int64_t step = 0;
    if (rest.contains(p.name() + ".state1")) {
      step = take_step(rest, p.name() + ".step");
      for (int number : {1, 2}) {
        const MomentName& moment = kMoments[number - 1];
        add_moment(p.name() + "." + moment.name, take_bitsandbytes(rest, p, number),
                   dtype_in(to.layout(i), moment.name), format_of(to.name(), to.settings(), moment.is_signed),
                   out.state);
      }
    }
    out.metadata["step." + p.name()] = std::to_string(step);
    updates = std::max(updates, step);
  }
  check_nothing_left(rest);
  out.metadata["update"] = std::to_string(updates);
  return out;
}

std::string with_options_of(std::string_view was, std::string_view text) {
  constexpr const char* kShared[] = {"lr", "beta1", "beta2", "eps", "weight_decay"};
  const OptimizerSpec before = parse_spec(was), after = parse_spec(text);
  const auto has_all = [&](const std::string& name) {
    const auto& all = optimizers();
    const auto info = std::find_if(all.begin(), all.end(), [&](const auto& o) { return o.name == name; });
    return info != all.end() && std::all_of(std::begin(kShared), std::end(kShared), [&](const char* key) {
             return std::any_of(info->options.begin(), info->options.end(),
                                [&](const OptimizerOption& o) { return o.name == key; });
           });
  };
  std::string result(text);
  if (!has_all(before.name) || !has_all(after.name)) return result;
  for (const char* key : kShared)
    if (const auto it = before.options.find(key); it != before.options.end() && !after.options.contains(key))
      result = with_option(result, key, it->second);
  return result;
}

}  // namespace tare::optim
