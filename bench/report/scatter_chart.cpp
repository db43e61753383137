// SPDX-License-Identifier: Apache-2.0
// A point for each thing compared, on a logarithmic axis that still has a place for zero.
#include <algorithm>
#include <cmath>

#include "tare/bench/report/charts.h"
#include "tare/bench/report/svg.h"

namespace tare::bench {
namespace {

constexpr double kHeight = 290;
constexpr double kLane = 44;  // width of the place for zero
constexpr size_t kLabelLetters = 18;

Frame frame_of(const ScatterChart& chart, bool with_zero) {
  std::vector<double> x, y;
  for (const ScatterPoint& p : chart.points) {
    x.push_back(p.x);
    y.push_back(p.y - p.spread);
    y.push_back(p.y + p.spread);
  }
  Frame f{.left = 46 + (with_zero ? kLane : 0), .right = kChartWidth - 10, .top = 34, .bottom = kHeight - 42};
  f.x = scale_of(x, true, false);
  f.y = scale_of(y, false, false);
  const double room = 0.1 * (f.y.high - f.y.low);
  f.y.low -= room;
  f.y.high += room;
  f.x.from = f.left;
  f.x.to = f.right;
  f.y.from = f.bottom;
  f.y.to = f.top;
  return f;
}

void draw_zero_lane(Markup& out, const Frame& f) {
  const double x = f.left - kLane / 2 - 4;
  out.single("line", {{"x1", x - 14}, {"y1", f.bottom}, {"x2", x + 14}, {"y2", f.bottom}, {"class", "axis"}});
  draw_text(out, x, f.bottom + 16, "0", "tick mid");
}

// Names at the right of their points, apart from those of points nearby.
void draw_names(Markup& out, const ScatterChart& chart, const std::vector<double>& x,
                const std::vector<double>& y, const Frame& f) {
  constexpr double kGap = 15;
  const std::vector<double> places = kept_apart(y, kGap, f.top + 6, f.bottom - 6);
  for (size_t i = 0; i < chart.points.size(); ++i) {
    const ScatterPoint& p = chart.points[i];
    const Element group(out, "g", {{"class", series_class(p.color)}});
    const std::string name = shortened(p.name, kLabelLetters);
    bool crowded = false;
    for (size_t j = 0; j < x.size(); ++j)
      crowded = crowded || (j != i && std::abs(x[j] - x[i]) < 130 && std::abs(y[j] - y[i]) < kGap);
    const double label_y = crowded ? places[i] : y[i];
    if (std::abs(label_y - y[i]) > 4)
      out.single("line",
                 {{"x1", x[i] + 4}, {"y1", y[i]}, {"x2", x[i] + 9}, {"y2", label_y}, {"class", "lead"}});
    draw_text(out, x[i] + 10, label_y + 4, name, "direct");
  }
}

}  // namespace

void draw(Markup& out, const ScatterChart& chart) {
  const bool with_zero =
      std::any_of(chart.points.begin(), chart.points.end(), [](const auto& p) { return p.x == 0; });
  const Frame f = frame_of(chart, with_zero);
  open_svg(out, chart.label, kHeight);
  draw_x_axis(out, f, chart.x_name, chart.x_text);
  Frame wide = f;
  wide.left = 46;
  draw_y_axis(out, wide, chart.y_name);
  if (with_zero) draw_zero_lane(out, f);
  std::vector<double> x, y;
  for (const ScatterPoint& p : chart.points) {
    x.push_back(p.x == 0 ? f.left - kLane / 2 - 4 : f.x(p.x));
    y.push_back(f.y(p.y));
  }
  for (size_t i = 0; i < chart.points.size(); ++i) {
    const ScatterPoint& p = chart.points[i];
    const Element group(out, "g", {{"class", series_class(p.color)}});
    if (p.spread > 0)
      out.single("line", {{"x1", x[i]},
                          {"y1", f.y(p.y - p.spread)},
                          {"x2", x[i]},
                          {"y2", f.y(p.y + p.spread)},
                          {"class", "spread"}});
    draw_mark(out, x[i], y[i], p.color, true, p.title);
  }
  draw_names(out, chart, x, y, f);
  out.close();
}

}  // namespace tare::bench
