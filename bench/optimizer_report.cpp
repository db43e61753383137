// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/optimizer_report.h"

#include <algorithm>
#include <limits>

#include "tare/bench/statistics.h"

namespace tare::bench {
namespace {

constexpr const char* kKind = "tare bench optimizers";
constexpr int64_t kVersion = 1;

template <class Get> std::vector<double> gathered(const std::vector<OptimizerRun>& runs, const Get& get) {
  std::vector<double> values;
  for (const OptimizerRun& run : runs) {
    const std::vector<double>& more = get(run);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

std::vector<double> each(const std::vector<OptimizerRun>& runs, double OptimizerRun::*member) {
  std::vector<double> values;
  for (const OptimizerRun& run : runs) values.push_back(run.*member);
  return values;
}

Json to_json(const Tuning& t) {
  Json points = Json::array();
  for (const TuningPoint& p : t.search.points())
    points.push_back(Json::object({{"factor", p.factor},
                                   {"lr", p.lr},
                                   {"train_loss", p.train_loss},
                                   {"heldout_loss", p.heldout_loss},
                                   {"diverged_at", p.diverged_at}}));
  return Json::object({{"steps", t.steps},
                       {"seed", t.seed},
                       {"lr", t.search.lr()},
                       {"best_lr", t.search.best().lr},
                       {"at_edge", t.search.is_at_edge()},
                       {"points", points}});
}

Tuning tuning_of(const Json& j) {
  std::vector<TuningPoint> points;
  for (const Json& p : j.at("points").items())
    points.push_back({.factor = p.at("factor").as_double(),
                      .lr = p.at("lr").as_double(),
                      .train_loss = p.at("train_loss").as_double(),
                      .heldout_loss = p.at("heldout_loss").as_double(),
                      .diverged_at = p.at("diverged_at").as_int()});
  Tuning tuning{j.at("steps").as_int(), j.at("seed").as_uint(),
                LearningRateSearch(j.at("lr").as_double(), std::move(points))};
  tuning.search.best();  // is there any point?
  return tuning;
}

OptimizerRow row_of(const Json& j) {
  OptimizerRow row;
  row.optimizer = j.at("optimizer").as_string();
  for (const Json& run : j.at("runs").items()) row.runs.push_back(optimizer_run_of(run));
  TARE_CHECK(!row.runs.empty(), in_quotes(row.optimizer), ": a row without runs");
  if (const Json* tuning = j.find("tuning")) row.tuning = tuning_of(*tuning);
  return row;
}

}  // namespace

const OptimizerRun& OptimizerRow::largest() const {
  return *std::max_element(runs.begin(), runs.end(),
                           [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
}

int64_t OptimizerRow::rss_peak_bytes() const {
  int64_t bytes = 0;
  for (const OptimizerRun& run : runs) bytes = std::max(bytes, run.rss_peak_bytes);
  return bytes;
}

std::vector<double> OptimizerRow::step_samples() const {
  return gathered(
      runs, [](const OptimizerRun& r) -> const auto& { return r.step_ms; });
}
std::vector<double> OptimizerRow::update_samples() const {
  return gathered(
      runs, [](const OptimizerRun& r) -> const auto& { return r.update_ms; });
}
double OptimizerRow::step_ms() const { return median(step_samples()); }
double OptimizerRow::update_ms() const { return median(update_samples()); }
double OptimizerRow::update_gbps() const { return first().update_bytes / update_ms() * 1e-6; }
double OptimizerRow::roof_gbps() const { return median(each(runs, &OptimizerRun::roof_gbps)); }
double OptimizerRow::copy_gbps() const { return median(each(runs, &OptimizerRun::copy_gbps)); }

// Within a process or between them, whichever is greater.
double OptimizerRow::roof_scatter() const {
  const std::vector<double> within = each(runs, &OptimizerRun::roof_scatter);
  return std::max(*std::max_element(within.begin(), within.end()),
                  scatter(each(runs, &OptimizerRun::roof_gbps)));
}

std::vector<double> OptimizerRow::train_losses() const { return each(runs, &OptimizerRun::train_loss); }
std::vector<double> OptimizerRow::heldout_losses() const { return each(runs, &OptimizerRun::heldout_loss); }

std::vector<double> OptimizerRow::rss_peaks() const {
  std::vector<double> values;
  for (const OptimizerRun& run : runs) values.push_back(double(run.rss_peak_bytes));
  return values;
}

std::vector<double> OptimizerRow::accuracies() const {
  std::vector<double> values;
  if (first().items != "images") return values;
  for (const OptimizerRun& run : runs)
    values.push_back(run.heldout_accuracy.value_or(std::numeric_limits<double>::quiet_NaN()));
  return values;
}

int64_t OptimizerRow::diverged() const {
  return std::count_if(runs.begin(), runs.end(), [](const auto& run) { return run.diverged_at > 0; });
}

LossCurve OptimizerRow::curve() const {
  std::vector<const LossCurve*> whole;
  for (const OptimizerRun& run : runs)
    if (run.diverged_at == 0) whole.push_back(&run.curve);
  if (whole.empty())
    return std::max_element(runs.begin(), runs.end(),
                            [](const auto& a, const auto& b) { return a.diverged_at < b.diverged_at; })
        ->curve;
  LossCurve result;
  result.step = whole.front()->step;
  for (size_t i = 0; i < result.step.size(); ++i) {
    double seconds = 0, loss = 0;
    for (const LossCurve* curve : whole) {
      seconds += curve->seconds.at(i);
      loss += curve->loss.at(i);
    }
    result.seconds.push_back(seconds / double(whole.size()));
    result.loss.push_back(loss / double(whole.size()));
  }
  return result;
}

Json to_json(const OptimizerRow& r) {
  const OptimizerRun& f = r.first();
  Json peak = Json::object(), runs = Json::array();
  for (int c = 0; c < kCategories; ++c) peak.set(name_of(Category(c)), r.largest().peak[size_t(c)]);
  for (const OptimizerRun& run : r.runs) runs.push_back(to_json(run));
  Json j = Json::object({{"optimizer", r.optimizer},
                         {"optimizer_ran", f.optimizer},
                         {"data", f.data},
                         {"parameters", f.parameters},
                         {"state_bytes", f.state_bytes},
                         {"state_bytes_predicted", f.state_bytes_predicted},
                         {"bytes_per_param", r.bytes_per_param()},
                         {"peak_bytes", r.largest().peak_bytes},
                         {"peak", peak},
                         {"held_bytes", r.largest().held_bytes},
                         {"rss_peak_bytes", r.rss_peak_bytes()},
                         {"update_ms", r.update_ms()},
                         {"update_scatter", scatter(r.update_samples())},
                         {"update_gbps", r.update_gbps()},
                         {"roof_gbps", r.roof_gbps()},
                         {"roof_scatter", r.roof_scatter()},
                         {"copy_gbps", r.copy_gbps()},
                         {"step_ms", r.step_ms()},
                         {"step_scatter", scatter(r.step_samples())},
                         {f.items + "_per_s", r.items_per_s()},
                         {"seeds", r.runs.size()},
                         {"diverged", r.diverged()},
                         {"train_loss", mean(r.train_losses())},
                         {"train_loss_spread", standard_deviation(r.train_losses())},
                         {"heldout_loss", mean(r.heldout_losses())},
                         {"heldout_loss_spread", standard_deviation(r.heldout_losses())},
                         {"heldout_" + f.samples, f.heldout_samples}});
  if (const std::vector<double> accuracies = r.accuracies(); !accuracies.empty()) {
    j.set("heldout_accuracy", mean(accuracies));
    j.set("heldout_accuracy_spread", standard_deviation(accuracies));
  }
  if (r.tuning) j.set("tuning", to_json(*r.tuning));
  j.set("runs", runs);
  return j;
}

Json to_json(const OptimizersReport& report) {
  Json rows = Json::array();
  for (const OptimizerRow& row : report.rows) rows.push_back(to_json(row));
  return Json::object({{"report", kKind},
                       {"version", kVersion},
                       {"machine", report.machine},
                       {"command", report.command},
                       {"date", report.date},
                       {"run", report.run},
                       {"rows", rows}});
}

OptimizersReport optimizers_report_of(const Json& json, const std::string& source) {
  const Json* kind = json.is_object() ? json.find("report") : nullptr;
  TARE_CHECK(kind && kind->is_string() && kind->as_string() == kKind, source, ": not a report of ", kKind,
             " --json");
  TARE_CHECK(json.at("version").as_int() == kVersion, source, ": a report of version ",
             json.at("version").as_int(), "; this program reads version ", kVersion);
  OptimizersReport report;
  report.machine = json.at("machine");
  report.run = json.at("run");
  report.command = json.at("command").as_string();
  report.date = json.at("date").as_string();
  for (const Json& row : json.at("rows").items()) report.rows.push_back(row_of(row));
  TARE_CHECK(!report.rows.empty(), source, ": a report without rows");
  return report;
}

}  // namespace tare::bench
