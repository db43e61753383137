// SPDX-License-Identifier: Apache-2.0
#include "tare/optim/schedule.h"

#include <cmath>

#include "tare/core/error.h"

namespace tare::optim {

std::string_view name_of(ScheduleShape shape) {
  switch (shape) {
    case ScheduleShape::constant:
      return "constant";
    case ScheduleShape::linear:
      return "linear";
    case ScheduleShape::cosine:
      return "cosine";
  }
  TARE_UNREACHABLE();
}

ScheduleShape schedule_shape(std::string_view name) {
  for (ScheduleShape shape : {ScheduleShape::constant, ScheduleShape::linear, ScheduleShape::cosine})
    if (name_of(shape) == name) return shape;
  TARE_THROW("unknown schedule \"", name, "\": expected constant, linear or cosine");
}

void check(const LrSchedule& s) {
  TARE_CHECK(std::isfinite(s.peak) && s.peak >= 0, "schedule: learning rate ", s.peak,
             " must be finite and not negative");
  TARE_CHECK(std::isfinite(s.minimum) && s.minimum >= 0 && s.minimum <= s.peak, "schedule: minimum ",
             s.minimum, " must lie between 0 and the learning rate ", s.peak);
  TARE_CHECK(s.shape != ScheduleShape::constant || s.minimum == 0, "schedule: a minimum of ", s.minimum,
             " does nothing to a constant learning rate");
  TARE_CHECK(s.warmup >= 0, "schedule: warm-up of ", s.warmup, " updates");
  TARE_CHECK(s.total >= (s.shape == ScheduleShape::constant ? 0 : 1), "schedule: ", name_of(s.shape),
             " over a total of ", s.total, " updates; expected how many the run has");
  TARE_CHECK(s.shape == ScheduleShape::constant || s.warmup <= s.total, "schedule: a warm-up of ", s.warmup,
             " updates is longer than the ", s.total, " updates of the run");
}

}  // namespace tare::optim
