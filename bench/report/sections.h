// SPDX-License-Identifier: Apache-2.0
// The sections of a report page: a heading, charts, and their figures in a table.
#pragma once

#include <string>
#include <vector>

#include "tare/bench/optimizer_report.h"
#include "tare/bench/report/markup.h"
#include "tare/bench/report/peers.h"

namespace tare::bench {

using TableLine = std::vector<std::string>;

// The first cell of each line is its heading. Scrolls by itself where it is too wide.
void draw_table(Markup& out, const TableLine& head, const std::vector<TableLine>& lines);
// A heading with a sentence below it.
void draw_heading(Markup& out, const std::string& title, const std::string& lead);

void summary_section(Markup& out, const OptimizersReport& report);
void loss_section(Markup& out, const OptimizersReport& report);
void cost_section(Markup& out, const OptimizersReport& report);   // memory, and time against the roof
void trade_section(Markup& out, const OptimizersReport& report);  // loss against state bytes, learning rates
void peers_section(Markup& out, const Peers& peers);

// Names that tell the rows apart in few letters: "adamw" where only one row is AdamW, else the text as given.
std::vector<std::string> short_names(const std::vector<OptimizerRow>& rows);
// "1.9481 ± 0.0020", or "diverged".
std::string loss_text(const OptimizerRow& row, const std::vector<double>& losses);
using Legend = std::vector<std::pair<std::string, std::string>>;  // classes of a colour, and what has it
void draw_legend(Markup& out, const Legend& legend);
Legend legend_of(const std::vector<OptimizerRow>& rows);

}  // namespace tare::bench
