// SPDX-License-Identifier: Apache-2.0
// Measuring by turns with other programs: lines of JSON on stdin and stdout.
#pragma once

#include <functional>

#include "tare/core/json.h"

namespace tare::tools {

// Says `ready`; for each line that comes says what turn() gives; says what last() gives when no more come.
void take_turns(const Json& ready, const std::function<Json()>& turn, const std::function<Json()>& last);

}  // namespace tare::tools
