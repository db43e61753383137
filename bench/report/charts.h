// SPDX-License-Identifier: Apache-2.0
// The charts of a report page as inline SVG. Colours are classes of the page's style sheet: s0 ... s7 for the
// things compared, c0 ... c9 for categories of memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tare/bench/report/markup.h"

namespace tare::bench {

inline constexpr size_t kSeriesColors = 8;

struct Series {
  std::string name;   // beside the line
  std::string title;  // in full, where a pointer rests
  std::vector<double> x, y;
  size_t color = 0;
};

struct LineChart {
  std::string label;  // what the chart is, for who does not see it
  std::string x_name, y_name;
  std::vector<Series> series;
  bool log_x = false;
  // A mark at each point, the lowest of each series filled; what stands above the greatest of those beside a
  // lowest one is left outside.
  bool markers = false;
  // Leaves what stands above the greatest value after the first twentieth outside, where curves begin high.
  bool cut_the_start = false;
  std::function<std::string(double)> x_text = {};
};
void draw(Markup& out, const LineChart& chart);

struct Bar {
  std::string name;
  std::vector<double> parts;        // stacked, in the order of the chart's part_classes
  std::string text;                 // at the end of the bar
  double mark = 0;                  // a line across the bar's place; 0 draws none
  std::vector<std::string> titles;  // of the parts
};
struct BarChart {
  std::string label;
  std::string x_name;
  std::vector<Bar> bars;
  std::vector<std::string> part_classes;  // "c4"; empty: bar i has the colour s<i>
  std::vector<std::string> part_names;    // written into parts that are wide enough
  std::vector<std::string> bar_classes;   // in place of s<i>
  std::function<std::string(double)> x_text;
};
void draw(Markup& out, const BarChart& chart);

struct ScatterPoint {
  std::string name, title;
  double x = 0, y = 0, spread = 0;  // x 0 stands apart at the left, as no logarithm has it
  size_t color = 0;
};
struct ScatterChart {
  std::string label;
  std::string x_name, y_name;
  std::vector<ScatterPoint> points;
  std::function<std::string(double)> x_text;
};
void draw(Markup& out, const ScatterChart& chart);

}  // namespace tare::bench
