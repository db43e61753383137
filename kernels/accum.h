// SPDX-License-Identifier: Apache-2.0
// Whether a kernel overwrites its output or adds to it. Gradients accumulate in the kernel that computes
// them.
#pragma once

#include <cstdint>

namespace tare {

enum class Accum : uint8_t { set, add };

}  // namespace tare
