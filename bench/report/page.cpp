// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/page.h"

#include <algorithm>
#include <cmath>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/sections.h"
#include "tare/bench/report/style.h"
#include "tare/bench/statistics.h"

namespace tare::bench {
namespace {

// A member of a description as text; "" when there is none.
std::string member(const Json& json, const char* key) {
  const Json* value = json.find(key);
  if (!value || value->is_null()) return "";
  if (value->is_string()) return value->as_string();
  return value->is_int() ? grouped(value->as_int()) : value->dump();
}

std::string model_name(const OptimizersReport& report) {
  const std::string model = member(report.run, "model");
  return model.substr(model.find_last_of('/') + 1);
}

std::string lead_of(const OptimizersReport& report) {
  std::string text = grouped(report.rows.front().first().parameters) + " parameters";
  for (const char* key : {"text", "data"})
    if (const std::string path = member(report.run, key); !path.empty())
      text +=
          " \u00b7 " + (path == "synthetic" ? "synthetic images" : path.substr(path.find_last_of('/') + 1));
  text += " \u00b7 " + member(report.run, "steps") + " updates of " + member(report.run, "batch");
  const std::string seq = member(report.run, "seq");
  text += (seq.empty() ? "" : " \u00d7 " + seq) + " " + report.rows.front().first().items;
  const size_t seeds = report.rows.front().runs.size();
  text += seeds == 1 ? " \u00b7 1 seed" : " \u00b7 " + std::to_string(seeds) + " seeds";
  if (report.rows.front().tuning) text += " \u00b7 each at its own best learning rate";
  return text;
}

void draw_tile(Markup& out, const std::string& what, const std::string& figure, const std::string& who) {
  const Element tile(out, "div", {{"class", "tile"}});
  out.leaf("div", {{"class", "what"}}, what);
  out.leaf("div", {{"class", "figure"}}, figure);
  out.leaf("div", {{"class", "who"}}, who);
}

// The row with the least `value` of those that did not diverge; null when all did.
const OptimizerRow* least(const std::vector<OptimizerRow>& rows, const auto& value) {
  const OptimizerRow* best = nullptr;
  for (const OptimizerRow& row : rows)
    if (row.diverged() == 0 && std::isfinite(value(row)) && (!best || value(row) < value(*best))) best = &row;
  return best;
}

void draw_tiles(Markup& out, const std::vector<OptimizerRow>& rows) {
  const auto loss = [](const OptimizerRow& r) { return mean(r.heldout_losses()); };
  const auto state = [](const OptimizerRow& r) { return double(r.first().state_bytes); };
  const auto step = [](const OptimizerRow& r) { return r.step_ms(); };
  const auto update = [](const OptimizerRow& r) { return r.update_ms(); };
  const Element tiles(out, "div", {{"class", "tiles"}});
  if (const OptimizerRow* r = least(rows, loss))
    draw_tile(out, "Lowest held-out loss", loss_text(*r, r->heldout_losses()), r->optimizer);
  if (const OptimizerRow* r = least(rows, state))
    draw_tile(out, "Smallest state", short_bytes(state(*r)), r->optimizer);
  if (const OptimizerRow* r = least(rows, update))
    draw_tile(out, "Shortest update", short_number(update(*r)) + " ms", r->optimizer);
  if (const OptimizerRow* r = least(rows, step))
    draw_tile(out, "Shortest step", short_number(step(*r)) + " ms", r->optimizer);
}

void draw_list(Markup& out, const Json& json) {
  const Element list(out, "dl");
  for (const auto& [key, value] : json.members()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', ' ');
    out.leaf("dt", {}, name);
    out.leaf("dd", {}, value.is_object() ? value.dump() : member(json, key.c_str()));
  }
}

void draw_divergences(Markup& out, const std::vector<OptimizerRow>& rows) {
  for (const OptimizerRow& row : rows)
    for (const OptimizerRun& run : row.runs)
      if (run.diverged_at > 0)
        out.leaf("p", {},
                 row.optimizer + " diverged at update " + grouped(run.diverged_at) + " with seed " +
                     std::to_string(run.seed) + ": its loss or a gradient was not finite.");
}

void draw_method(Markup& out, const OptimizersReport& report) {
  out.leaf("h2", {}, "How it was measured");
  {
    const Element p(out, "p");
    out.leaf("code", {}, report.command);
  }
  const Element pair(out, "div", {{"class", "pair"}});
  {
    const Element figure(out, "figure");
    out.leaf("h3", {}, "The run");
    draw_list(out, report.run);
  }
  const Element figure(out, "figure");
  out.leaf("h3", {}, "The machine");
  draw_list(out, report.machine);
}

void draw_head(Markup& out, const std::string& title) {
  const Element head(out, "head");
  out.single("meta", {{"charset", "utf-8"}});
  out.single("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  out.leaf("title", {}, title);
  out.style(kReportStyle);
}

}  // namespace

std::string report_page(const OptimizersReport& report, const std::optional<Peers>& peers) {
  const std::string title = "Optimizers on " + model_name(report);
  Markup out;
  out.declaration("<!DOCTYPE html>");
  out.open("html", {{"lang", "en"}});
  draw_head(out, title + ", measured by Tare");
  out.open("body");
  out.open("main");
  out.leaf("h1", {}, title);
  out.leaf("p", {{"class", "soft"}}, lead_of(report));
  out.leaf("p", {{"class", "soft"}},
           member(report.machine, "cpu") + ", " + member(report.machine, "threads") + " threads, " +
               member(report.machine, "isa") + " \u00b7 Tare " + member(report.machine, "tare") + " \u00b7 " +
               report.date);
  draw_tiles(out, report.rows);
  draw_divergences(out, report.rows);
  summary_section(out, report);
  loss_section(out, report);
  cost_section(out, report);
  trade_section(out, report);
  if (peers) peers_section(out, *peers);
  draw_method(out, report);
  out.close();
  out.close();
  out.close();
  return out.finish();
}

}  // namespace tare::bench
