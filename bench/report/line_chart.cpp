// SPDX-License-Identifier: Apache-2.0
// A line for each thing compared, named at its end.
#include <algorithm>
#include <cmath>

#include "tare/bench/report/charts.h"
#include "tare/bench/report/svg.h"

namespace tare::bench {
namespace {

constexpr double kHeight = 290;
constexpr double kLabelGap = 14;
constexpr size_t kLabelLetters = 15;

// The place of the least finite value; the size when there is none.
size_t lowest_of(const std::vector<double>& y) {
  size_t lowest = y.size();
  for (size_t i = 0; i < y.size(); ++i)
    if (std::isfinite(y[i]) && (lowest == y.size() || y[i] < y[lowest])) lowest = i;
  return lowest;
}

// The ends of the y axis: all of the curves, or, where they begin high, what comes after their first
// twentieth, or what stands about the lowest point of each.
Scale y_scale(const LineChart& chart) {
  std::vector<double> values;
  for (const Series& s : chart.series) {
    size_t first = 0, last = s.y.size();
    if (chart.cut_the_start && s.y.size() >= 20) first = s.y.size() / 20;
    if (chart.markers && s.y.size() > 3) {
      const size_t lowest = lowest_of(s.y);
      first = lowest < 1 ? 0 : lowest - 1;
      last = std::min(last, lowest + 2);
    }
    values.insert(values.end(), s.y.begin() + std::ptrdiff_t(first), s.y.begin() + std::ptrdiff_t(last));
  }
  return scale_of(values, false, false);
}

Frame frame_of(const LineChart& chart) {
  size_t letters = 0;
  std::vector<double> x;
  for (const Series& s : chart.series) {
    letters = std::max(letters, std::min(kLabelLetters, s.name.size()));
    x.insert(x.end(), s.x.begin(), s.x.end());
  }
  Frame frame{
      .left = 46, .right = kChartWidth - 16 - kLetter * double(letters), .top = 34, .bottom = kHeight - 42};
  frame.x = scale_of(x, chart.log_x, !chart.log_x);
  if (!chart.log_x && !x.empty()) frame.x.high = *std::max_element(x.begin(), x.end());
  if (frame.x.high <= frame.x.low) frame.x.high = frame.x.low + 1;
  frame.y = y_scale(chart);
  frame.x.from = frame.left;
  frame.x.to = frame.right;
  frame.y.from = frame.bottom;
  frame.y.to = frame.top;
  return frame;
}

// Clipped by hand at the top of the frame, so that the page needs no names that must be unique.
std::string path_of(const Series& s, const Frame& f) {
  std::string d;
  const auto add = [&](const char* command, double x, double y) {
    d += command + coordinate(f.x(x)) + " " + coordinate(f.y(y));
  };
  bool drawing = false;
  for (size_t i = 0; i < s.x.size(); ++i) {
    if (!std::isfinite(s.y[i])) {
      drawing = false;
      continue;
    }
    const bool inside = s.y[i] <= f.y.high;
    if (i > 0 && inside && !drawing && std::isfinite(s.y[i - 1])) {  // comes in from above
      const double part = (s.y[i - 1] - f.y.high) / (s.y[i - 1] - s.y[i]);
      add("M", s.x[i - 1] + part * (s.x[i] - s.x[i - 1]), f.y.high);
      drawing = true;
    }
    if (inside) {
      add(drawing ? "L" : "M", s.x[i], s.y[i]);
    } else if (drawing) {  // goes out
      const double part = (f.y.high - s.y[i - 1]) / (s.y[i] - s.y[i - 1]);
      add("L", s.x[i - 1] + part * (s.x[i] - s.x[i - 1]), f.y.high);
    }
    drawing = inside;
  }
  return d;
}

void draw_marks(Markup& out, const Series& s, const Frame& f, const LineChart& chart) {
  const size_t lowest = lowest_of(s.y);
  for (size_t i = 0; i < s.y.size(); ++i)
    if (std::isfinite(s.y[i]) && s.y[i] <= f.y.high)
      draw_mark(out, f.x(s.x[i]), f.y(s.y[i]), s.color, i == lowest,
                s.title + ": " + short_number(s.y[i]) + " at " +
                    (chart.x_text ? chart.x_text(s.x[i]) : short_number(s.x[i])));
}

// The names at the ends of their lines.
void draw_names(Markup& out, const LineChart& chart, const Frame& f) {
  std::vector<double> wanted;
  std::vector<const Series*> shown;
  std::vector<size_t> ends;
  for (const Series& s : chart.series) {
    size_t end = s.y.size();
    while (end > 0 && !std::isfinite(s.y[end - 1])) --end;
    if (end == 0) continue;
    shown.push_back(&s);
    ends.push_back(end - 1);
    wanted.push_back(std::max(f.top, f.y(s.y[end - 1])));
  }
  const std::vector<double> places = kept_apart(wanted, kLabelGap, f.top + 4, f.bottom - 4);
  for (size_t i = 0; i < shown.size(); ++i) {
    const Element group(out, "g", {{"class", series_class(shown[i]->color)}});
    const double x = f.x(shown[i]->x[ends[i]]), y = wanted[i];
    const double label_x = chart.markers ? f.right : x;
    if (!chart.markers) draw_mark(out, x, y, shown[i]->color, true, shown[i]->title);
    if (std::abs(places[i] - y) > 3)
      out.single("path", {{"d", "M" + coordinate(label_x + 4) + " " + coordinate(y) + "L" +
                                    coordinate(label_x + 9) + " " + coordinate(places[i])},
                          {"class", "lead"}});
    draw_text(out, label_x + 10, places[i] + 4, shortened(shown[i]->name, kLabelLetters), "direct");
  }
}

}  // namespace

void draw(Markup& out, const LineChart& chart) {
  const Frame f = frame_of(chart);
  open_svg(out, chart.label, kHeight);
  draw_x_axis(out, f, chart.x_name, chart.x_text);
  draw_y_axis(out, f, chart.y_name);
  for (const Series& s : chart.series) {
    const Element group(out, "g", {{"class", series_class(s.color)}});
    out.open("path", {{"d", path_of(s, f)}, {"class", "line"}});
    out.leaf("title", {}, s.title);
    out.close();
    if (chart.markers) draw_marks(out, s, f, chart);
  }
  draw_names(out, chart, f);
  out.close();
}

}  // namespace tare::bench
