// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tare/bench/optimizer_table.h"
#include "tare/bench/statistics.h"

namespace tare::bench {
namespace {

// What belongs to a description without changing what is measured.
constexpr const char* kIgnored[] = {"text", "data"};  // paths; their content has a hash

void add_differences(const Json& a, const Json& b, std::vector<std::string>& list) {
  const auto shown = [](const Json* value) { return value ? value->dump() : std::string("not given"); };
  for (const auto& [key, value] : a.members()) {
    if (std::find(std::begin(kIgnored), std::end(kIgnored), key) != std::end(kIgnored)) continue;
    const Json* other = b.find(key);
    if (!other || !(*other == value)) list.push_back(key + ": " + shown(&value) + " and " + shown(other));
  }
  for (const auto& [key, value] : b.members())
    if (!a.find(key) && std::find(std::begin(kIgnored), std::end(kIgnored), key) == std::end(kIgnored))
      list.push_back(key + ": not given and " + shown(&value));
}

MetricComparison exact(const char* metric, int64_t a, int64_t b) {
  MetricComparison m{.metric = metric, .a = double(a), .b = double(b)};
  return m;
}

MetricComparison tested(const char* metric, double a, double b, const char* what,
                        const std::vector<double>& samples_a, const std::vector<double>& samples_b) {
  MetricComparison m{.metric = metric, .a = a, .b = b, .samples = what};
  m.samples_a = samples_a.size();
  m.samples_b = samples_b.size();
  const WelchTest test = welch_test(samples_a, samples_b);
  m.t = test.t;
  m.dof = test.dof;
  m.p = test.p;
  m.missing = test.missing;
  return m;
}

std::vector<double> medians(const OptimizerRow& row, std::vector<double> OptimizerRun::*member) {
  std::vector<double> values;
  for (const OptimizerRun& run : row.runs)
    if (!(run.*member).empty()) values.push_back(median(run.*member));
  return values;
}

MetricComparison times(const char* metric, const OptimizerRow& a, const OptimizerRow& b,
                       std::vector<double> OptimizerRun::*member) {
  const std::vector<double> of_a = medians(a, member), of_b = medians(b, member);
  const double middle_a = median(of_a), middle_b = median(of_b);
  if (of_a.size() > 1 && of_b.size() > 1) return tested(metric, middle_a, middle_b, "seeds", of_a, of_b);
  return tested(metric, middle_a, middle_b, "stretches of steps", batch_means(a.first().*member),
                batch_means(b.first().*member));
}

OptimizerComparison compare_rows(const OptimizerRow& a, const OptimizerRow& b) {
  OptimizerComparison c{a.optimizer, {}};
  c.metrics.push_back(exact("state_bytes", a.first().state_bytes, b.first().state_bytes));
  c.metrics.push_back(exact("peak_bytes", a.largest().peak_bytes, b.largest().peak_bytes));
  c.metrics.push_back(times("update_ms", a, b, &OptimizerRun::update_ms));
  c.metrics.push_back(times("step_ms", a, b, &OptimizerRun::step_ms));
  const auto over_seeds = [&](const char* metric, const std::vector<double>& of_a,
                              const std::vector<double>& of_b) {
    c.metrics.push_back(tested(metric, mean(of_a), mean(of_b), "seeds", of_a, of_b));
  };
  over_seeds("rss_peak_bytes", a.rss_peaks(), b.rss_peaks());
  over_seeds("train_loss", a.train_losses(), b.train_losses());
  over_seeds("heldout_loss", a.heldout_losses(), b.heldout_losses());
  if (!a.accuracies().empty() && !b.accuracies().empty())
    over_seeds("heldout_accuracy", a.accuracies(), b.accuracies());
  return c;
}

void correct_for_their_number(Comparison& comparison) {
  std::vector<MetricComparison*> with_test;
  std::vector<double> p;
  for (OptimizerComparison& o : comparison.optimizers)
    for (MetricComparison& m : o.metrics)
      if (m.is_tested()) {
        with_test.push_back(&m);
        p.push_back(m.p);
      }
  const std::vector<double> corrected = holm(p);
  for (size_t i = 0; i < with_test.size(); ++i) with_test[i]->p_holm = corrected[i];
}

const OptimizerRow* find(const std::vector<OptimizerRow>& rows, const std::string& optimizer) {
  const auto it = std::find_if(rows.begin(), rows.end(),
                               [&](const OptimizerRow& row) { return row.optimizer == optimizer; });
  return it == rows.end() ? nullptr : &*it;
}

std::string number(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.5g", value);
  return text;
}

std::string verdict(const MetricComparison& m) {
  if (m.samples.empty()) return m.a == m.b ? "equal" : "exact figures";
  if (!m.missing.empty()) return m.missing;
  char text[96];
  std::snprintf(text, sizeof text, "p %.2g, %s (%zu and %zu %s)", m.p_holm,
                m.is_significant() ? "they differ" : "may be chance", m.samples_a, m.samples_b,
                m.samples.c_str());
  return text;
}

}  // namespace

Comparison compare(const OptimizersReport& a, const OptimizersReport& b) {
  Comparison comparison;
  add_differences(a.machine, b.machine, comparison.unfair);
  add_differences(a.run, b.run, comparison.unfair);
  for (const OptimizerRow& row : a.rows) {
    const OptimizerRow* other = find(b.rows, row.optimizer);
    if (!other) {
      comparison.only_a.push_back(row.optimizer);
      continue;
    }
    if (row.first().optimizer != other->first().optimizer)
      comparison.unfair.push_back(row.optimizer + " ran as: " + row.first().optimizer + " and " +
                                  other->first().optimizer);
    comparison.optimizers.push_back(compare_rows(row, *other));
  }
  for (const OptimizerRow& row : b.rows)
    if (!find(a.rows, row.optimizer)) comparison.only_b.push_back(row.optimizer);
  TARE_CHECK(!comparison.optimizers.empty(), "no optimizer stands in both reports: the first has ",
             comparison.only_a.front(), "..., the second ", comparison.only_b.front(), "...");
  correct_for_their_number(comparison);
  return comparison;
}

Json to_json(const Comparison& comparison) {
  const auto list = [](const std::vector<std::string>& texts) {
    Json array = Json::array();
    for (const std::string& text : texts) array.push_back(text);
    return array;
  };
  Json optimizers = Json::array();
  for (const OptimizerComparison& o : comparison.optimizers) {
    Json metrics = Json::array();
    for (const MetricComparison& m : o.metrics) {
      Json j = Json::object({{"metric", m.metric}, {"a", m.a}, {"b", m.b}, {"ratio", m.ratio()}});
      if (m.is_tested()) {
        for (const auto& [key, value] :
             {std::pair{"t", m.t}, {"dof", m.dof}, {"p", m.p}, {"p_holm", m.p_holm}})
          j.set(key, value);
        j.set("samples", m.samples);
        j.set("samples_a", m.samples_a);
        j.set("samples_b", m.samples_b);
        j.set("significant", m.is_significant());
      }
      j.set("verdict", verdict(m));
      metrics.push_back(j);
    }
    optimizers.push_back(Json::object({{"optimizer", o.optimizer}, {"metrics", metrics}}));
  }
  return Json::object({{"unfair", list(comparison.unfair)},
                       {"only_a", list(comparison.only_a)},
                       {"only_b", list(comparison.only_b)},
                       {"optimizers", optimizers}});
}

std::string text_of(const Comparison& comparison) {
  std::string text;
  if (!comparison.unfair.empty()) {
    text += "the two were not measured alike:\n";
    for (const std::string& difference : comparison.unfair) text += "  " + difference + "\n";
    text += "\n";
  }
  std::vector<std::vector<std::string>> lines = {{"optimizer", "metric", "A", "B", "B/A", "difference"}};
  for (const OptimizerComparison& o : comparison.optimizers)
    for (const MetricComparison& m : o.metrics) {
      char ratio[32] = "-";
      if (m.a != 0 && std::isfinite(m.ratio())) std::snprintf(ratio, sizeof ratio, "%.3f", m.ratio());
      lines.push_back({o.optimizer, m.metric, number(m.a), number(m.b), ratio, verdict(m)});
    }
  text += aligned(lines);
  for (const std::string& optimizer : comparison.only_a) text += "only in A: " + optimizer + "\n";
  for (const std::string& optimizer : comparison.only_b) text += "only in B: " + optimizer + "\n";
  return text +
         "p: Welch's t-test, two-sided, corrected for the number of tests (Holm); they differ below 0.05\n";
}

}  // namespace tare::bench
