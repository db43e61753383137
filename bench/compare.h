// SPDX-License-Identifier: Apache-2.0
// Two reports of `tare bench optimizers` side by side: values, ratios, and whether the differences are more
// than chance.
#pragma once

#include <string>
#include <vector>

#include "tare/bench/optimizer_report.h"

namespace tare::bench {

struct MetricComparison {
  std::string metric;  // as in the rows' JSON
  double a = 0, b = 0;
  double ratio() const { return b / a; }
  std::string samples = {};  // what the test was made on: "seeds", "stretches of steps"; "" for exact figures
  size_t samples_a = 0, samples_b = 0;
  double t = 0, dof = 0, p = 1;
  double p_holm = 1;         // corrected for the number of tests in the whole comparison
  std::string missing = {};  // why there was no test
  bool is_tested() const { return missing.empty() && !samples.empty(); }
  bool is_significant() const { return is_tested() && p_holm < 0.05; }
};

struct OptimizerComparison {
  std::string optimizer;
  std::vector<MetricComparison> metrics;
};

struct Comparison {
  std::vector<OptimizerComparison> optimizers;  // those that both reports have, in the order of the first
  std::vector<std::string> only_a, only_b;
  std::vector<std::string> unfair;  // "steps: 300 and 600"; what else than the optimizers' speed differs
};

// Losses are tested over seeds; times over the medians of the seeds where each side has two or more, else
// over stretches of one process's steps. Error when no optimizer stands in both.
Comparison compare(const OptimizersReport& a, const OptimizersReport& b);

Json to_json(const Comparison& comparison);
std::string text_of(const Comparison& comparison);

}  // namespace tare::bench
