// SPDX-License-Identifier: Apache-2.0
// The rows of `tare bench optimizers` as a table on a terminal and as CSV.
#pragma once

#include <string>
#include <vector>

#include "tare/bench/optimizer_report.h"

namespace tare::bench {

// Columns under a head, the first flush left and the others flush right, two spaces apart.
std::string aligned(const std::vector<std::vector<std::string>>& lines);

// Speed, memory and losses; memory by category; what was tuned; what the figures need said of them.
std::string text_table(const std::vector<OptimizerRow>& rows);

// One line for each optimizer under a head, as in RFC 4180: the members of its JSON row that are single
// values, and the categories of its peak.
std::string csv_table(const std::vector<OptimizerRow>& rows);

}  // namespace tare::bench
