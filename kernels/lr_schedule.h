// SPDX-License-Identifier: Apache-2.0
// The learning rate as a pure function of the update index, for host and device.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tare/core/half.h"

namespace tare {

enum class ScheduleShape : uint8_t { constant, linear, cosine };

// How warm-up and decay meet.
enum class WarmupForm : uint8_t {
  // min(1, (k + 1) / w) times the decay over all of [0, total): the first update already moves.
  overlapping,
  // k / w up to w, then the decay over [w, total): what transformers' get_*_schedule_with_warmup compute,
  // where the first update of a warm-up has learning rate 0.
  sequential,
};

struct LrSchedule {
  ScheduleShape shape = ScheduleShape::constant;
  WarmupForm form = WarmupForm::overlapping;
  double peak =
      std::numeric_limits<double>::quiet_NaN();  // learning rate after warm-up; NaN: the optimizer's
  double minimum = 0;                            // learning rate at the end of the decay
  int64_t warmup = 0;                            // updates
  int64_t total =
      0;  // updates until the end of the decay, where the minimum begins; only constant needs none
};

// The learning rate of update k, counted from 0.
TARE_HD double learning_rate_at(const LrSchedule& s, int64_t k) {
  constexpr double kPi = 3.14159265358979323846;
  const bool sequential = s.form == WarmupForm::sequential;
  const double w = double(s.warmup > 0 ? s.warmup : 1);
  double rise = 1;
  if (sequential && k < s.warmup) return s.peak * double(k) / w;
  if (!sequential && k + 1 < s.warmup) rise = double(k + 1) / w;
  const int64_t begin = sequential ? s.warmup : 0;
  const double length = double(s.total > begin ? s.total - begin : 1);
  double progress = double(k - begin) / length;
  progress = progress > 1 ? 1 : progress;
  double decay = 1;
  switch (s.shape) {
    case ScheduleShape::constant:
      break;
    case ScheduleShape::linear:
      decay = k < s.total ? double(s.total - k) / length : 0;
      break;
    case ScheduleShape::cosine:
      decay = 0.5 * (1 + cos(kPi * progress));
      break;
  }
  return rise * (s.minimum + (s.peak - s.minimum) * decay);
}

}  // namespace tare
