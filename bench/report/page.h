// SPDX-License-Identifier: Apache-2.0
// `tare bench optimizers --report`: one HTML file without scripts or links, its charts inline.
#pragma once

#include <optional>
#include <string>

#include "tare/bench/optimizer_report.h"
#include "tare/bench/report/peers.h"

namespace tare::bench {

std::string report_page(const OptimizersReport& report, const std::optional<Peers>& peers = std::nullopt);

}  // namespace tare::bench
