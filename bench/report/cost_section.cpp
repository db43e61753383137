// SPDX-License-Identifier: Apache-2.0
// What an optimizer costs: memory by category, and its update against the roof of the machine.
#include <algorithm>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/charts.h"
#include "tare/bench/report/sections.h"
#include "tare/bench/statistics.h"

namespace tare::bench {
namespace {

std::vector<size_t> categories_of(const std::vector<OptimizerRow>& rows) {
  std::vector<size_t> shown;
  for (size_t c = 0; c < size_t(kCategories); ++c)
    if (std::any_of(rows.begin(), rows.end(), [c](const auto& r) { return r.largest().peak[c] != 0; }))
      shown.push_back(c);
  return shown;
}

std::string words_of(size_t category) {
  std::string name(name_of(Category(category)));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void memory_figure(Markup& out, const std::vector<OptimizerRow>& rows) {
  BarChart chart{.label = "Memory at the peak, by category",
                 .x_name = "bytes at the peak",
                 .bars = {},
                 .part_classes = {},
                 .part_names = {},
                 .bar_classes = {},
                 .x_text = short_bytes};
  Legend legend;
  for (const size_t c : categories_of(rows)) {
    chart.part_classes.push_back("c" + std::to_string(c));
    chart.part_names.push_back(words_of(c));
    legend.emplace_back(chart.part_classes.back(), chart.part_names.back());
  }
  for (const OptimizerRow& r : rows) {
    Bar bar{r.optimizer, {}, short_bytes(double(r.largest().peak_bytes)), 0, {}};
    for (const size_t c : categories_of(rows)) {
      bar.parts.push_back(double(r.largest().peak[c]));
      bar.titles.push_back(words_of(c) + ": " + grouped(r.largest().peak[c]) + " bytes");
    }
    chart.bars.push_back(bar);
  }
  const Element figure(out, "figure");
  out.leaf("h3", {}, "Memory by category");
  out.leaf("figcaption", {},
           "What the ledger held when the total was greatest. Each byte that Tare asks for is in it.");
  draw(out, chart);
  draw_legend(out, legend);
}

void memory_table(Markup& out, const std::vector<OptimizerRow>& rows) {
  TableLine head = {"memory at the peak, bytes"};
  for (const size_t c : categories_of(rows)) head.push_back(words_of(c));
  head.insert(head.end(), {"total", "held", "RSS above start"});
  std::vector<TableLine> lines;
  for (const OptimizerRow& r : rows) {
    TableLine line = {r.optimizer};
    for (const size_t c : categories_of(rows)) line.push_back(grouped(r.largest().peak[c]));
    line.insert(line.end(), {grouped(r.largest().peak_bytes), grouped(r.largest().held_bytes),
                             grouped(r.rss_peak_bytes())});
    lines.push_back(line);
  }
  draw_table(out, head, lines);
}

void update_figure(Markup& out, const std::vector<OptimizerRow>& rows) {
  BarChart chart{.label = "Time of an update against its roof",
                 .x_name = "milliseconds",
                 .bars = {},
                 .part_classes = {},
                 .part_names = {},
                 .bar_classes = {},
                 .x_text = short_number};
  for (const OptimizerRow& r : rows) {
    const bool timed = !r.update_samples().empty();
    chart.bars.push_back(
        {r.optimizer,
         {timed ? r.update_ms() : 0},
         timed ? short_number(r.update_ms()) + " ms, " + fixed(r.percent_of_roof(), 0) + " %" : "diverged",
         timed ? r.roof_ms() : 0,
         {r.optimizer + ": " + fixed(r.update_ms(), 3) + " ms"}});
  }
  const Element figure(out, "figure");
  out.leaf("h3", {}, "Update against the roof");
  out.leaf("figcaption", {},
           "The optimizer's kernel alone, median. The line is the roof: the time that this machine takes to "
           "stream "
           "as many bytes in the same pattern. The percentage is roof over update.");
  draw(out, chart);
}

void update_table(Markup& out, const std::vector<OptimizerRow>& rows) {
  std::vector<TableLine> lines;
  for (const OptimizerRow& r : rows)
    lines.push_back({r.optimizer, fixed(r.update_ms(), 3), fixed(100 * scatter(r.update_samples()), 0),
                     fixed(r.roof_ms(), 3), fixed(100 * r.roof_scatter(), 0), fixed(r.update_gbps(), 1),
                     fixed(r.roof_gbps(), 1), fixed(r.percent_of_roof(), 1), fixed(r.step_ms(), 2),
                     fixed(100 * r.update_ms() / r.step_ms(), 1)});
  draw_table(out,
             {"time", "update, ms", "scatter, %", "roof, ms", "its scatter, %", "GB/s", "roof, GB/s",
              "% of its roof", "whole step, ms", "update, % of it"},
             lines);
}

}  // namespace

void cost_section(Markup& out, const OptimizersReport& report) {
  out.leaf("h2", {}, "Memory and time");
  {
    const Element pair(out, "div", {{"class", "pair"}});
    memory_figure(out, report.rows);
    update_figure(out, report.rows);
  }
  memory_table(out, report.rows);
  update_table(out, report.rows);
}

}  // namespace tare::bench
