// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/svg.h"

#include <algorithm>
#include <numeric>

#include "tare/bench/report/charts.h"

namespace tare::bench {
namespace {

Attributes line(double x1, double y1, double x2, double y2, const std::string& classes) {
  return {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}, {"class", classes}};
}

// Bytes of UTF-8 that begin a letter.
bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

void open_svg(Markup& out, const std::string& label, double height) {
  out.open("svg", {{"viewBox", "0 0 " + coordinate(kChartWidth) + " " + coordinate(height)},
                   {"role", "img"},
                   {"aria-label", label}});
}

void draw_text(Markup& out, double x, double y, const std::string& text, const std::string& classes) {
  Attributes attributes = {{"x", x}, {"y", y}};
  if (!classes.empty()) attributes.emplace_back("class", classes);
  out.leaf("text", attributes, text);
}

void draw_x_axis(Markup& out, const Frame& f, const std::string& name, const TickText& text) {
  double last = -1e9;
  for (const double tick : ticks(f.x, 5)) {
    const double x = f.x(tick);
    out.single("line", line(x, f.top, x, f.bottom, "grid"));
    const std::string label = text ? text(tick) : short_number(tick);
    const double half = kLetter * double(label.size()) / 2;
    if (x - half < last + 6) continue;  // no room for it
    draw_text(out, x, f.bottom + 16, label, "tick mid");
    last = x + half;
  }
  out.single("line", line(f.left, f.bottom, f.right, f.bottom, "axis"));
  draw_text(out, (f.left + f.right) / 2, f.bottom + 34, name, "name mid");
}

void draw_y_axis(Markup& out, const Frame& f, const std::string& name) {
  for (const double tick : ticks(f.y, 5)) {
    out.single("line", line(f.left, f.y(tick), f.right, f.y(tick), "grid"));
    draw_text(out, f.left - 6, f.y(tick) + 4, short_number(tick), "tick end");
  }
  draw_text(out, 2, f.top - 10, name, "name");
}

void draw_mark(Markup& out, double x, double y, size_t shape, bool filled, const std::string& title) {
  const std::string classes = filled ? "mark filled" : "mark";
  const auto path = [&](const std::string& d) { out.open("path", {{"d", d}, {"class", classes}}); };
  const auto at = [&](double dx, double dy) { return coordinate(x + dx) + " " + coordinate(y + dy); };
  switch (shape % 4) {
    case 0:
      out.open("circle", {{"cx", x}, {"cy", y}, {"r", 4.0}, {"class", classes}});
      break;
    case 1:
      path("M" + at(-3.6, -3.6) + "H" + coordinate(x + 3.6) + "V" + coordinate(y + 3.6) + "H" +
           coordinate(x - 3.6) + "Z");
      break;
    case 2:
      path("M" + at(0, -4.8) + "L" + at(4.6, 3.6) + "L" + at(-4.6, 3.6) + "Z");
      break;
    default:
      path("M" + at(0, -5.2) + "L" + at(4.6, 0) + "L" + at(0, 5.2) + "L" + at(-4.6, 0) + "Z");
  }
  out.leaf("title", {}, title);
  out.close();
}

std::vector<double> kept_apart(std::vector<double> wanted, double gap, double low, double high) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return wanted[i] < wanted[j]; });
  // Groups of neighbours that touch share their displacement: each is centred on what its members ask for.
  struct Group {
    double middle;
    size_t count;
  };
  std::vector<Group> groups;
  for (const size_t i : order) {
    groups.push_back({wanted[i], 1});
    while (true) {
      Group& last = groups.back();
      const double half = gap * double(last.count - 1) / 2;
      last.middle = std::max(low + half, std::min(last.middle, high - half));
      if (groups.size() < 2) break;
      Group& before = groups[groups.size() - 2];
      const double room = gap * double(before.count + last.count) / 2;
      if (last.middle - before.middle >= room) break;
      const double sum = before.middle * double(before.count) + last.middle * double(last.count);
      before.count += last.count;
      before.middle = sum / double(before.count);
      groups.pop_back();
    }
  }
  size_t next = 0;
  for (const Group& group : groups)
    for (size_t k = 0; k < group.count; ++k)
      wanted[order[next++]] = group.middle + gap * (double(k) - double(group.count - 1) / 2);
  return wanted;
}

std::string shortened(const std::string& text, size_t letters) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (begins_letter(text[i]) && ++count > letters) {
      size_t end = 0;
      for (size_t kept = 0; end < text.size(); ++end)
        if (begins_letter(text[end]) && ++kept == letters) break;
      return text.substr(0, end) + "\u2026";
    }
  return text;
}

std::string series_class(size_t color) { return "s" + std::to_string(color % kSeriesColors); }

}  // namespace tare::bench
