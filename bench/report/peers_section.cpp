// SPDX-License-Identifier: Apache-2.0
// Tare beside other libraries.
#include <algorithm>
#include <cmath>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/charts.h"
#include "tare/bench/report/sections.h"

namespace tare::bench {
namespace {

std::string percent(double part) { return fixed(100 * part, 0); }

TableLine peer_line(const PeerRow& row) {
  return {row.name,
          row.library,
          fixed(row.ms, 3),
          percent(row.scatter),
          row.against.empty() ? "" : row.against,
          row.against.empty() ? "" : fixed(row.ratio, 2),
          row.percent_of_roof > 0 ? fixed(row.percent_of_roof, 1) : "",
          row.rss_peak_bytes > 0 ? grouped(row.rss_peak_bytes) : ""};
}

void draw_figure(Markup& out, const PeerGroup& group) {
  BarChart chart{.label = group.title,
                 .x_name = "milliseconds, median",
                 .bars = {},
                 .part_classes = {},
                 .part_names = {},
                 .bar_classes = {},
                 .x_text = short_number};
  for (const PeerRow& row : group.rows) {
    std::string text = short_number(row.ms) + " ms";
    if (!row.against.empty()) text += ", " + fixed(row.ratio, 2) + "\u00d7";
    chart.bars.push_back({row.name, {row.ms}, text, 0, {row.name + ": " + fixed(row.ms, 3) + " ms"}});
    chart.bar_classes.push_back(row.against.empty() ? "s0" : "peer");
  }
  {
    const Element figure(out, "figure");
    out.leaf("h3", {}, group.title);
    draw_legend(out, {{"s0", "Tare"}, {"peer", "others, and how many times Tare's time they take"}});
    draw(out, chart);
  }
}

void draw_figures_of(Markup& out, const PeerGroup& group) {
  std::vector<TableLine> lines;
  for (const PeerRow& row : group.rows) lines.push_back(peer_line(row));
  draw_table(out,
             {group.title, "library", "median, ms", "scatter, %", "compared with", "times its time",
              "% of the roof", "peak RSS above start, bytes"},
             lines);
}

}  // namespace

void peers_section(Markup& out, const Peers& peers) {
  out.leaf("h2", {}, "Against other libraries");
  std::string measured =
      "The same work by turns in one run, on the same threads, while waiting threads sleep. Measured " +
      peers.date + " with ";
  const Element section(out, "section");
  {
    const Element lead(out, "p", {{"class", "soft"}});
    out.text(measured);
    out.leaf("code", {}, peers.command);
  }
  {
    const Element pair(out, "div", {{"class", "pair"}});
    for (const PeerGroup& group : peers.groups) draw_figure(out, group);
  }
  for (const PeerGroup& group : peers.groups) draw_figures_of(out, group);
}

}  // namespace tare::bench
