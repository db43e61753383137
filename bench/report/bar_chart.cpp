// SPDX-License-Identifier: Apache-2.0
// Bars, whole or of parts, with their names above them and their figures at their ends.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tare/bench/report/charts.h"
#include "tare/bench/report/svg.h"

namespace tare::bench {
namespace {

constexpr double kRow = 46, kBarTop = 21, kBarHeight = 17, kTop = 8, kBelow = 44;
constexpr size_t kNameLetters = 60;

double length_of(const Bar& bar) { return std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0); }

Frame frame_of(const BarChart& chart) {
  Frame frame{.left = 2, .right = kChartWidth - 4, .top = kTop};
  frame.bottom = kTop + kRow * double(chart.bars.size());
  size_t letters = 0;
  std::vector<double> values;
  for (const Bar& bar : chart.bars) {
    letters = std::max(letters, bar.text.size());
    values.push_back(length_of(bar));
    values.push_back(bar.mark);
  }
  frame.right -= kLetter * double(letters);
  frame.x = scale_of(values, false, true);
  frame.x.from = frame.left;
  frame.x.to = frame.right;
  return frame;
}

void draw_part(Markup& out, const BarChart& chart, const Bar& bar, size_t part, double from, double to,
               double y) {
  out.open(
      "rect",
      {{"x", from}, {"y", y}, {"width", std::max(0.6, to - from)}, {"height", kBarHeight}, {"class", "bar"}});
  if (part < bar.titles.size()) out.leaf("title", {}, bar.titles[part]);
  out.close();
  if (part >= chart.part_names.size()) return;
  const std::string& name = chart.part_names[part];
  if (to - from > kLetter * double(name.size()) + 10)
    draw_text(out, (from + to) / 2, y + kBarHeight - 4.5, name, "inside mid");
}

void draw_bar(Markup& out, const BarChart& chart, const Frame& f, size_t i) {
  const Bar& bar = chart.bars[i];
  const double top = kTop + kRow * double(i), y = top + kBarTop;
  draw_text(out, f.left, top + 14, shortened(bar.name, kNameLetters), "bar-name");
  double at = 0;
  for (size_t part = 0; part < bar.parts.size(); ++part) {
    if (!(bar.parts[part] > 0)) continue;
    const std::string classes = !chart.part_classes.empty()  ? chart.part_classes[part]
                                : !chart.bar_classes.empty() ? chart.bar_classes[i]
                                                             : series_class(i);
    const Element group(out, "g", {{"class", classes}});
    draw_part(out, chart, bar, part, f.x(at), f.x(at + bar.parts[part]), y);
    at += bar.parts[part];
  }
  double end = f.x(at);
  if (bar.mark > 0 && std::isfinite(bar.mark)) {
    const double x = f.x(bar.mark);
    out.single("line", {{"x1", x}, {"y1", y - 2}, {"x2", x}, {"y2", y + kBarHeight + 4}, {"class", "limit"}});
    end = std::max(end, x);
  }
  draw_text(out, end + 6, y + kBarHeight - 4, bar.text, "value");
}

}  // namespace

void draw(Markup& out, const BarChart& chart) {
  const Frame f = frame_of(chart);
  open_svg(out, chart.label, f.bottom + kBelow);
  draw_x_axis(out, f, chart.x_name, chart.x_text);
  for (size_t i = 0; i < chart.bars.size(); ++i) draw_bar(out, chart, f, i);
  out.close();
}

}  // namespace tare::bench
