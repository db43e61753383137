// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/adafactor.h"

#include <cmath>
#include <limits>

#include "tare/core/json.h"

namespace tare::optim {
namespace {

using Options = AdafactorOptions;

double epsilon_of(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

void check_combination(const Options& o) {
  if (o.preset == AdafactorPreset::torch) {
    const auto lacks = [](bool given, const char* option) {
      TARE_CHECK(!given, "adafactor: torch's has no ", option, "; leave it out, or take preset=hf");
    };
    lacks(o.relative_step.value_or(false), "relative_step (its rate is min(lr, 1 / sqrt(t)))");
    lacks(o.warmup_init.value_or(false), "warmup_init");
    lacks(!o.scale_parameter.value_or(true), "scale_parameter=false");
    lacks(o.beta1.value_or(0) != 0, "beta1");
    return;
  }
  const bool relative = o.relative_step.value_or(!o.lr);
  TARE_CHECK(
      !o.lr || !relative, "adafactor: lr=", Json(*o.lr).dump(),
      " and relative_step=true exclude each other: a relative step has no learning rate; leave one out");
  TARE_CHECK(o.lr || relative, "adafactor: relative_step=false needs a learning rate; add lr=1e-3");
  TARE_CHECK(
      relative || !o.warmup_init.value_or(false),
      "adafactor: warmup_init=true is about the relative step; leave out lr, or use a schedule with warm-up");
}

void check_ranges(const Options& o) {
  TARE_CHECK(*o.beta1 >= 0 && *o.beta1 < 1, "adafactor: beta1 ", *o.beta1, " must lie in [0, 1)");
  TARE_CHECK(!o.eps1 || (std::isfinite(*o.eps1) && *o.eps1 >= double(std::numeric_limits<float>::min())),
             "adafactor: eps1 ", o.eps1.value_or(0),
             " must be a normal f32, at least 1.2e-38: where all gradients are 0 it stands alone");
  TARE_CHECK(std::isfinite(*o.eps2) && *o.eps2 >= 0, "adafactor: eps2 ", *o.eps2,
             " must be finite and not negative");
  TARE_CHECK(o.clip_threshold > 0, "adafactor: clip_threshold ", o.clip_threshold, " must be positive");
  TARE_CHECK(std::isfinite(o.decay_rate) && o.decay_rate <= 0, "adafactor: decay_rate ", o.decay_rate,
             " must be finite and not positive: step t keeps 1 - t^decay_rate of the mean squares");
}

// Every option set but what stays open: the lr of a relative step, and torch's eps1, which is of the dtype.
Options completed(Options o) {
  check_combination(o);
  const bool torch = o.preset == AdafactorPreset::torch;
  if (torch && !o.lr) o.lr = 1e-2;
  o.relative_step = !torch && o.relative_step.value_or(!o.lr);
  o.warmup_init = o.warmup_init.value_or(false);
  o.scale_parameter = o.scale_parameter.value_or(true);
  o.beta1 = o.beta1.value_or(0);
  if (!torch && !o.eps1) o.eps1 = 1e-30;
  TARE_CHECK(*o.scale_parameter || !o.eps2,
             "adafactor: eps2 does nothing with scale_parameter=false; leave it out");
  o.eps2 = o.eps2.value_or(1e-3);
  o.factor =
      o.factor.value_or(o.preset == AdafactorPreset::paper ? AdafactorFactor::matrix : AdafactorFactor::last);
  check_ranges(o);
  return o;
}

StateLayout layout_of(const Options& o, const Var& p) {
  const DType dtype = wide_dtype_of(p);
  const std::vector<int64_t> dims(p.shape().begin(), p.shape().end());
  const size_t rank = dims.size();
  StateLayout layout;
  if (rank < 2) {
    layout.states = {{"exp_avg_sq", p.shape(), dtype}};
  } else if (*o.factor == AdafactorFactor::last || rank == 2) {
    std::vector<int64_t> row(dims.begin(), dims.end() - 1), column(dims.begin(), dims.end() - 2);
    column.push_back(dims[rank - 1]);
    layout.rows = dims[rank - 2];
    layout.cols = dims[rank - 1];
    layout.states = {{"exp_avg_sq_row", Shape(row), dtype}, {"exp_avg_sq_col", Shape(column), dtype}};
  } else {
    layout.cols = rank == 4 ? dims[1] * dims[2] * dims[3] : dims[rank - 1];
    layout.rows = layout.cols == 0 ? 0 : p.numel() / layout.cols;
    layout.states = {{"exp_avg_sq_row", {layout.rows}, dtype}, {"exp_avg_sq_col", {layout.cols}, dtype}};
  }
  if (p.numel() == 0) layout.rows = layout.cols = 0;
  if (*o.beta1 != 0) layout.states.push_back({"exp_avg", p.shape(), dtype});
  return layout;
}

}  // namespace

std::string_view name_of(AdafactorPreset preset) {
  switch (preset) {
    case AdafactorPreset::hf:
      return "hf";
    case AdafactorPreset::torch:
      return "torch";
    case AdafactorPreset::paper:
      return "paper";
  }
  TARE_THROW("adafactor: preset ", int(preset));
}

AdafactorPreset adafactor_preset_from_name(std::string_view name) {
  for (AdafactorPreset preset : {AdafactorPreset::hf, AdafactorPreset::torch, AdafactorPreset::paper})
    if (name == name_of(preset)) return preset;
  TARE_THROW("unknown preset of adafactor \"", name, "\": expected hf, torch or paper");
}

std::string_view name_of(AdafactorFactor factor) { return factor == AdafactorFactor::last ? "last" : "2d"; }

AdafactorFactor adafactor_factor_from_name(std::string_view name) {
  for (AdafactorFactor factor : {AdafactorFactor::last, AdafactorFactor::matrix})
    if (name == name_of(factor)) return factor;
  TARE_THROW("adafactor: factor \"", name, "\": expected last or 2d");
}

Adafactor::Adafactor(const std::vector<ParamGroup>& groups, const AdafactorOptions& options)
    : Optimizer(groups, completed(options).lr.value_or(1), options.weight_decay,
                [o = completed(options)](const Var& p, const ParamGroup&) { return layout_of(o, p); }),
      options_(completed(options)) {}

std::string Adafactor::settings() const {
  const AdafactorOptions& o = options_;
  const auto text = [](double value) { return Json(value).dump(); };  // every digit
  const auto word = [](bool value) { return value ? "true" : "false"; };
  return detail::concat("preset=", name_of(o.preset), ",factor=", name_of(*o.factor),
                        ",relative_step=", word(*o.relative_step), ",warmup_init=", word(*o.warmup_init),
                        ",scale_parameter=", word(*o.scale_parameter),
                        ",clip_threshold=", text(o.clip_threshold), ",decay_rate=", text(o.decay_rate),
                        ",beta1=", text(*o.beta1), ",eps1=", o.eps1 ? text(*o.eps1) : "epsilon",
                        ",eps2=", text(*o.eps2), ",weight_decay=", text(o.weight_decay));
}

void Adafactor::update(int, const TensorTable& table, const Tensor& step_state) {
  using kernels::AdafactorRate;
  const AdafactorOptions& o = options_;
  const bool torch = o.preset == AdafactorPreset::torch;
  kernels::AdafactorArgs args;
  if (torch)
    args.rate = AdafactorRate::capped;
  else if (*o.relative_step)
    args.rate = *o.warmup_init ? AdafactorRate::warmup : AdafactorRate::relative;
  else
    args.rate = AdafactorRate::given;
  args.scale_parameter = *o.scale_parameter;
  args.clamp_variance = torch;
  args.eps1 = o.eps1.value_or(epsilon_of(table.param_dtype()));
  args.eps2 = *o.eps2;
  args.clip_threshold = o.clip_threshold;
  args.decay_rate = o.decay_rate;
  args.beta1 = *o.beta1;
  args.decay_by_step = !torch;
  const int64_t bytes = kernels::adafactor_scratch_bytes(table);
  if (!scratch_.defined() || scratch_.nbytes() < bytes)
    scratch_ = Tensor::empty({bytes}, {DType::u8, table.device(), Category::workspace});
  kernels::adafactor_update(table, args, scratch_, step_state);
}

}  // namespace tare::optim
