// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/sections.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/charts.h"
#include "tare/bench/report/svg.h"
#include "tare/bench/statistics.h"

namespace tare::bench {
void draw_heading(Markup& out, const std::string& title, const std::string& lead) {
  out.leaf("h2", {}, title);
  out.leaf("p", {{"class", "soft"}}, lead);
}

void draw_table(Markup& out, const TableLine& head, const std::vector<TableLine>& lines) {
  const Element scroll(out, "div", {{"class", "scroll"}});
  const Element table(out, "table");
  {
    const Element thead(out, "thead");
    const Element row(out, "tr");
    for (const std::string& cell : head) out.leaf("th", {{"scope", "col"}}, cell);
  }
  const Element body(out, "tbody");
  for (const TableLine& line : lines) {
    const Element row(out, "tr");
    for (size_t i = 0; i < line.size(); ++i)
      if (i == 0)
        out.leaf("th", {{"scope", "row"}}, line[i]);
      else
        out.leaf("td", {}, line[i]);
  }
}

void draw_legend(Markup& out, const Legend& items) {
  const Element list(out, "ul", {{"class", "legend"}});
  for (const auto& [classes, name] : items) {
    const Element item(out, "li");
    const bool limit = classes == "limit";
    out.leaf("span", {{"class", limit ? "limit" : "swatch " + classes}}, "");
    out.leaf("span", {}, name);
  }
}

Legend legend_of(const std::vector<OptimizerRow>& rows) {
  Legend list;
  for (size_t i = 0; i < rows.size(); ++i) list.emplace_back(series_class(i), rows[i].optimizer);
  return list;
}

std::vector<std::string> short_names(const std::vector<OptimizerRow>& rows) {
  const auto name_of_row = [](const OptimizerRow& row) {
    return row.optimizer.substr(0, row.optimizer.find(':'));
  };
  std::vector<std::string> names;
  for (const OptimizerRow& row : rows) {
    const std::string name = name_of_row(row);
    const auto same = std::count_if(rows.begin(), rows.end(),
                                    [&](const OptimizerRow& other) { return name_of_row(other) == name; });
    names.push_back(same == 1 ? name : row.optimizer);
  }
  return names;
}

std::string loss_text(const OptimizerRow& row, const std::vector<double>& losses) {
  if (row.diverged() > 0)
    return losses.size() == 1
               ? "diverged"
               : "diverged (" + std::to_string(row.diverged()) + " of " + std::to_string(losses.size()) + ")";
  const std::string middle = fixed(mean(losses), 4);
  return losses.size() == 1 ? middle : middle + " \u00b1 " + fixed(standard_deviation(losses), 4);
}

static std::string accuracy_text(const OptimizerRow& row) {
  const std::vector<double> values = row.accuracies();
  if (row.diverged() > 0) return "diverged";
  const std::string spread =
      values.size() == 1 ? "" : " \u00b1 " + fixed(100 * standard_deviation(values), 2);
  return fixed(100 * mean(values), 2) + spread + " %";
}

void summary_section(Markup& out, const OptimizersReport& report) {
  const bool with_accuracy = std::any_of(report.rows.begin(), report.rows.end(),
                                         [](const auto& row) { return !row.accuracies().empty(); });
  std::vector<TableLine> lines;
  for (const OptimizerRow& r : report.rows) {
    lines.push_back({r.optimizer, grouped(r.first().state_bytes), fixed(r.bytes_per_param(), 4),
                     grouped(r.largest().peak_bytes), fixed(r.update_ms(), 3), fixed(r.percent_of_roof(), 1),
                     fixed(r.step_ms(), 2), fixed(r.items_per_s(), 0), loss_text(r, r.train_losses()),
                     loss_text(r, r.heldout_losses())});
    if (with_accuracy) lines.back().push_back(accuracy_text(r));
  }
  TableLine head = {"optimizer",
                    "state, bytes",
                    "bytes per parameter",
                    "peak, bytes",
                    "update, ms",
                    "% of its roof",
                    "step, ms",
                    report.rows.front().first().items + " per second",
                    "training loss",
                    "held-out loss"};
  if (with_accuracy) head.push_back("accuracy");
  draw_table(out, head, lines);
}

// A line for each update that any curve has a point at.
static void curve_table(Markup& out, const std::vector<OptimizerRow>& rows,
                        const std::vector<std::string>& names) {
  TableLine head = {"update"};
  std::map<int64_t, TableLine> lines;
  for (size_t i = 0; i < rows.size(); ++i) {
    head.insert(head.end(), {names[i] + ": loss", "after, s"});
    const LossCurve curve = rows[i].curve();
    for (size_t k = 0; k < curve.step.size(); ++k) {
      TableLine& line = lines.try_emplace(curve.step[k], 1 + 2 * rows.size()).first->second;
      line[0] = grouped(curve.step[k]);
      line[1 + 2 * i] = fixed(curve.loss[k], 4);
      line[2 + 2 * i] = fixed(curve.seconds[k], 3);
    }
  }
  std::vector<TableLine> list;
  for (auto& [step, line] : lines) list.push_back(std::move(line));
  draw_table(out, head, list);
}

void loss_section(Markup& out, const OptimizersReport& report) {
  draw_heading(
      out, "Loss",
      "Training loss against updates, and against the time that they took. Of long runs each point is "
      "the mean over the updates since the one before it; of several seeds, the mean.");
  const std::vector<std::string> names = short_names(report.rows);
  LineChart by_step{.label = "Training loss against updates",
                    .x_name = "updates",
                    .y_name = "loss, nats",
                    .series = {},
                    .cut_the_start = true};
  LineChart by_time = by_step;
  by_time.label = "Training loss against time";
  double longest = 0;
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const LossCurve curve = report.rows[i].curve();
    const std::string& optimizer = report.rows[i].optimizer;
    Series s{names[i], optimizer, {curve.step.begin(), curve.step.end()}, curve.loss, i};
    by_step.series.push_back(s);
    s.x = curve.seconds;
    by_time.series.push_back(s);
    if (!s.x.empty()) longest = std::max(longest, s.x.back());
  }
  const TimeUnit unit = time_unit(longest);
  by_time.x_name = std::string("time of training, ") + unit.name;
  for (Series& s : by_time.series)
    for (double& x : s.x) x *= unit.per_second;
  draw_legend(out, legend_of(report.rows));
  {
    const Element pair(out, "div", {{"class", "pair"}});
    for (const LineChart* chart : {&by_step, &by_time}) {
      const Element figure(out, "figure");
      out.leaf("h3", {}, chart == &by_step ? "Against updates" : "Against time");
      draw(out, *chart);
    }
  }
  const Element details(out, "details");
  out.leaf("summary", {}, "The figures of both charts");
  curve_table(out, report.rows, names);
}

}  // namespace tare::bench
