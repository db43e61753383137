// SPDX-License-Identifier: Apache-2.0
// What the bytes of an optimizer's state buy, and at which learning rate.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/charts.h"
#include "tare/bench/report/sections.h"
#include "tare/bench/statistics.h"

namespace tare::bench {
namespace {

void trade_figure(Markup& out, const std::vector<OptimizerRow>& rows) {
  const std::vector<std::string> names = short_names(rows);
  ScatterChart chart{.label = "Held-out loss against bytes of state",
                     .x_name = "state of the optimizer (logarithmic)",
                     .y_name = "held-out loss, nats",
                     .points = {},
                     .x_text = short_bytes};
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> losses = rows[i].heldout_losses();
    if (!std::isfinite(mean(losses))) continue;
    chart.points.push_back({names[i], rows[i].optimizer + ": " + loss_text(rows[i], losses),
                            double(rows[i].first().state_bytes), mean(losses), standard_deviation(losses),
                            i});
  }
  const Element figure(out, "figure");
  out.leaf("h3", {}, "Held-out loss against state");
  out.leaf("figcaption", {}, "After the last update. Bars are one standard deviation over the seeds.");
  draw(out, chart);
}

void trade_table(Markup& out, const std::vector<OptimizerRow>& rows) {
  std::vector<TableLine> lines;
  for (const OptimizerRow& r : rows) {
    std::string each;
    for (const double loss : r.heldout_losses()) each += (each.empty() ? "" : ", ") + fixed(loss, 4);
    lines.push_back({r.optimizer, grouped(r.first().state_bytes), fixed(r.bytes_per_param(), 4),
                     loss_text(r, r.heldout_losses()), each});
  }
  draw_table(out,
             {"loss against state", "state, bytes", "bytes per parameter", "held-out loss", "of each seed"},
             lines);
}

void tuning_figure(Markup& out, const std::vector<OptimizerRow>& rows) {
  const std::vector<std::string> names = short_names(rows);
  LineChart chart{.label = "Held-out loss against learning rate",
                  .x_name = "learning rate (logarithmic)",
                  .y_name = "held-out loss, nats",
                  .series = {},
                  .log_x = true,
                  .markers = true};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].tuning) continue;
    Series s{names[i], rows[i].optimizer, {}, {}, i};
    for (const TuningPoint& p : rows[i].tuning->search.points()) {
      s.x.push_back(p.lr);
      s.y.push_back(p.diverged_at > 0 ? std::numeric_limits<double>::quiet_NaN() : p.heldout_loss);
    }
    chart.series.push_back(s);
  }
  const Element figure(out, "figure");
  out.leaf("h3", {}, "Learning rates");
  out.leaf("figcaption", {},
           "A sweep by factors of two, with a seed that no row has. It grows while its best point, which is "
           "filled and was chosen, is at an end.");
  draw(out, chart);
}

void tuning_table(Markup& out, const std::vector<OptimizerRow>& rows) {
  std::vector<TableLine> lines;
  for (const OptimizerRow& row : rows) {
    if (!row.tuning) continue;
    const LearningRateSearch& search = row.tuning->search;
    for (const TuningPoint& p : search.points()) {
      const bool best = p.factor == search.best().factor;
      const std::string loss =
          p.diverged_at > 0 ? "diverged at " + grouped(p.diverged_at) : fixed(p.heldout_loss, 4);
      lines.push_back({row.optimizer, short_number(p.lr), short_number(p.factor), grouped(row.tuning->steps),
                       std::to_string(row.tuning->seed), loss,
                       !best                 ? ""
                       : search.is_at_edge() ? "chosen, at the edge"
                                             : "chosen"});
    }
  }
  draw_table(out, {"learning rates", "rate", "factor", "updates", "seed", "held-out loss", ""}, lines);
}

}  // namespace

void trade_section(Markup& out, const OptimizersReport& report) {
  draw_heading(out, "Loss against state",
               "What the bytes of an optimizer's state buy: lower and further left is better.");
  const bool tuned =
      std::any_of(report.rows.begin(), report.rows.end(), [](const auto& r) { return r.tuning.has_value(); });
  {
    const Element pair(out, "div", {{"class", tuned ? "pair" : "alone"}});
    trade_figure(out, report.rows);
    if (tuned) tuning_figure(out, report.rows);
  }
  trade_table(out, report.rows);
  if (tuned) tuning_table(out, report.rows);
}

}  // namespace tare::bench
