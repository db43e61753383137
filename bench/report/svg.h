// SPDX-License-Identifier: Apache-2.0
// What the charts share: the frame with its axes, marks that differ in shape, labels that keep apart.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/markup.h"

namespace tare::bench {

// In units of the drawing, which a wide screen shows at about one pixel each and a phone at three quarters.
inline constexpr double kChartWidth = 480;
inline constexpr double kLetter = 6.9;  // width of a letter, on average

using TickText = std::function<std::string(double)>;

struct Frame {
  double left = 0, right = 0, top = 0, bottom = 0;
  Scale x = {}, y = {};
};

// Opens <svg> of kChartWidth by `height`; the caller closes it.
void open_svg(Markup& out, const std::string& label, double height);
void draw_text(Markup& out, double x, double y, const std::string& text, const std::string& classes = "");
// Grid lines, tick labels and the axis' name below the frame or at its left.
void draw_x_axis(Markup& out, const Frame& frame, const std::string& name, const TickText& text);
void draw_y_axis(Markup& out, const Frame& frame, const std::string& name);
// A circle, square, triangle or diamond by `shape`, hollow or filled, in the colour of its class.
void draw_mark(Markup& out, double x, double y, size_t shape, bool filled, const std::string& title);

// Places that are at least `gap` apart, each as near to what it asks for as its neighbours allow, in
// [low, high] when all fit.
std::vector<double> kept_apart(std::vector<double> wanted, double gap, double low, double high);
// Cut to so many letters, with an ellipsis.
std::string shortened(const std::string& text, size_t letters);
std::string series_class(size_t color);

}  // namespace tare::bench
