// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules by name.
#pragma once

#include <string>
#include <string_view>

#include "tare/kernels/lr_schedule.h"

namespace tare::optim {

std::string_view name_of(ScheduleShape shape);
// "constant", "linear" or "cosine"; Error that lists them.
ScheduleShape schedule_shape(std::string_view name);
// Error that names the field: a peak or minimum that is negative or not finite, a minimum above the peak or
// of a constant schedule, which would do nothing, a negative warm-up, a total below 1 of a decaying schedule,
// a warm-up beyond the total of a decaying schedule.
void check(const LrSchedule& schedule);

}  // namespace tare::optim
