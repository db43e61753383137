// SPDX-License-Identifier: Apache-2.0
// What this machine is, and what this process takes of it.
#pragma once

#include <cstdint>
#include <string>

namespace tare {

struct Machine {
  std::string cpu;           // model name
  int cores = 0;             // that this process may run on
  int64_t memory_bytes = 0;  // installed
  int64_t l2_bytes = 0;      // per core; 0 when unknown
  int64_t l3_bytes = 0;      // per socket; 0 when unknown
  std::string huge_pages;    // "always", "madvise" or "never"
  std::string os;            // kernel name and release
};

Machine this_machine();

// Resident set size of this process, bytes; 0 where /proc is missing.
int64_t rss_bytes();
// Its greatest value since the process began, or since reset_peak_rss().
int64_t peak_rss_bytes();
// False where the kernel does not let us.
bool reset_peak_rss();

}  // namespace tare
