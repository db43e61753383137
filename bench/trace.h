// SPDX-License-Identifier: Apache-2.0
// A timeline of kernels in the Trace Event format, which Perfetto and chrome://tracing open.
#pragma once

#include <string>
#include <vector>

#include "tare/kernels/profile.h"

namespace tare::bench {

// Writes complete events ("ph": "X") with module path, GFLOP/s and GB/s as arguments. Error when the file
// cannot be written whole.
void write_trace(const std::string& file, const std::vector<kernels::KernelEvent>& events);

}  // namespace tare::bench
