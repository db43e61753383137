// SPDX-License-Identifier: Apache-2.0
// Rows over seeds, their JSON and CSV, and two reports compared.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/bench/compare.h"
#include "tare/bench/optimizer_table.h"
#include "tare/bench/statistics.h"

#include "tests/bench/reports.h"

namespace tare::bench {
namespace {

using test::made_report;
using test::made_row;

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

const MetricComparison& metric(const OptimizerComparison& c, const std::string& name) {
  for (const MetricComparison& m : c.metrics)
    if (m.metric == name) return m;
  throw Error("no metric " + name);
}

TEST(Report, ALongCurveIsThinnedToMeans) {
  std::vector<double> seconds, losses;
  for (int i = 1; i <= 1000; ++i) {
    seconds.push_back(i);
    losses.push_back(i % 2 == 0 ? 3 : 1);
  }
  const LossCurve curve = thinned(seconds, losses, 100);
  ASSERT_EQ(curve.step.size(), 100u);
  EXPECT_EQ(curve.step.front(), 10);
  EXPECT_EQ(curve.step.back(), 1000);
  EXPECT_EQ(curve.seconds[4], 50);
  for (const double loss : curve.loss) EXPECT_EQ(loss, 2);
  EXPECT_EQ(thinned({1, 2}, {5, 4}).loss, (std::vector<double>{5, 4}));
  EXPECT_TRUE(thinned({}, {}).step.empty());
}

TEST(Report, SeedsBecomeMeanSpreadAndSingleValues) {
  const Json row = to_json(made_row("adamw", {2.0, 2.1, 2.3}));
  EXPECT_EQ(row.at("seeds").as_int(), 3);
  EXPECT_NEAR(row.at("heldout_loss").as_double(), 6.4 / 3, 1e-12);
  EXPECT_NEAR(row.at("heldout_loss_spread").as_double(), standard_deviation({2.0, 2.1, 2.3}), 1e-12);
  ASSERT_EQ(row.at("runs").items().size(), 3u);
  EXPECT_EQ(row.at("runs").items()[2].at("heldout_loss").as_double(), 2.3);
  EXPECT_EQ(row.at("runs").items()[1].at("seed").as_int(), 8);
  EXPECT_NEAR(row.at("update_ms").as_double(), 2.01, 1e-12);
  EXPECT_NEAR(row.at("tokens_per_s").as_double(), 64 / 20.2 * 1e3, 1e-9);
}

TEST(Report, WhatIsWrittenIsReadAgain) {
  OptimizersReport report = made_report({made_row("adamw", {2.0, 2.1}), made_row("sgd:lr=1", {3.0, 3.5})});
  test::diverge(report.rows[1].runs[1], 5);
  report.rows[0].tuning =
      Tuning{20, 9, LearningRateSearch(1e-3, {{1, 1e-3, 2, 2, 0}, {2, 2e-3, NAN, NAN, 7}})};
  report.rows[0].runs[0].heldout_accuracy = 0.5;
  const Json json = to_json(report);
  const OptimizersReport read = optimizers_report_of(Json::parse(json.dump(2)), "r.json");
  EXPECT_EQ(to_json(read).dump(), json.dump());
  EXPECT_EQ(read.rows[1].diverged(), 1);
  EXPECT_TRUE(std::isnan(mean(read.rows[1].heldout_losses())));
  EXPECT_EQ(read.rows[1].curve().step.size(), 40u);  // of the run that went on
  EXPECT_EQ(read.rows[0].tuning->search.points()[1].diverged_at, 7);
}

TEST(Report, AnotherFileIsRefused) {
  const auto refused = [](const char* text) {
    return message([&] { optimizers_report_of(Json::parse(text), "x.json"); });
  };
  for (const char* text : {"[]", "{}", R"({"report": "tare bench peers"})", R"({"report": 1})"})
    EXPECT_NE(refused(text).find("x.json: not a report of tare bench optimizers"), std::string::npos) << text;
  EXPECT_NE(refused(R"({"report": "tare bench optimizers", "version": 99})").find("version 99"),
            std::string::npos);
  Json json = to_json(made_report({made_row("adamw", {2})}));
  json.set("rows", Json::array());
  EXPECT_NE(message([&] { optimizers_report_of(json, "x"); }).find("without rows"), std::string::npos);
}

TEST(Report, CsvHasALineForEachOptimizerAndQuotesCommas) {
  const std::string csv = csv_table({made_row("adamw:lr=1e-3,beta2=0.95", {2}), made_row("sgd", {3})});
  EXPECT_EQ(csv.find("optimizer,optimizer_ran,data,parameters,state_bytes"), 0u);
  EXPECT_NE(csv.find("\r\n\"adamw:lr=1e-3,beta2=0.95\",\"adamw:lr=1e-3,beta2=0.95\",t.txt,1000,8000,"),
            std::string::npos);
  EXPECT_NE(csv.find(",peak_optimizer_state,"), std::string::npos);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  const auto commas = [&](size_t from) {
    return std::count(csv.begin() + std::ptrdiff_t(from),
                      csv.begin() + std::ptrdiff_t(csv.find("\r\n", from)), ',');
  };
  EXPECT_EQ(commas(csv.find("\r\nsgd") + 2), commas(0));
}

TEST(Report, AnAccuracyOfSeedsOfWhichOneDivergedIsNone) {
  OptimizerRow whole = made_row("adamw", {2, 2}), row = made_row("sgd", {2, 2});
  for (OptimizerRow* r : {&whole, &row})
    for (OptimizerRun& run : r->runs) {
      run.items = "images";
      run.heldout_accuracy = 0.5;
    }
  test::diverge(row.runs[1], 5);
  row.runs[1].heldout_accuracy.reset();
  EXPECT_TRUE(std::isnan(mean(row.accuracies())));
  EXPECT_TRUE(to_json(row).at("heldout_accuracy").is_null() ||
              std::isnan(to_json(row).at("heldout_accuracy").as_double()));
  const std::string csv = csv_table({row, whole});
  const auto commas = [&](size_t line) {
    const size_t end = csv.find("\r\n", line);
    return std::count(csv.begin() + std::ptrdiff_t(line), csv.begin() + std::ptrdiff_t(end), ',');
  };
  EXPECT_EQ(commas(csv.find("\r\nsgd") + 2), commas(0));
  EXPECT_EQ(commas(csv.find("\r\nadamw") + 2), commas(0));
}

TEST(Report, TheTableSaysWhatDivergedAndWhatWasTuned) {
  OptimizerRow row = made_row("sgd:lr=9", {2, 2});
  test::diverge(row.runs[1], 5);
  row.tuning = Tuning{20, 9, LearningRateSearch(9, {{1, 9, 2, 2, 0}, {2, 18, NAN, NAN, 7}})};
  OptimizerRow first = made_row("adamw", {2, 2.5});
  EXPECT_EQ(text_table({first}).find("synthetic"), std::string::npos);
  first.runs[0].data = "synthetic";
  const std::string text = text_table({first, row});
  EXPECT_NE(text.find("synthetic images"), std::string::npos) << text;
  EXPECT_NE(text.find("2.2500 +- 0.3536"), std::string::npos) << text;
  EXPECT_NE(text.find("sgd:lr=9, seed 8: diverged at step 5"), std::string::npos) << text;
  EXPECT_NE(text.find("diverged at 18; chosen 9, at the edge"), std::string::npos) << text;
}

TEST(Compare, FindsWhatDiffersAndWhatDoesNot) {
  const OptimizersReport a =
      made_report({made_row("adamw", {2.00, 2.01, 2.02}), made_row("sgd", {3, 3.1, 3.2})});
  OptimizersReport b = made_report({made_row("adamw", {2.50, 2.51, 2.52}), made_row("sgd", {3, 3.1, 3.21})});
  b.rows[0].runs[0].peak_bytes += 1000;
  const Comparison c = compare(a, b);
  ASSERT_EQ(c.optimizers.size(), 2u);
  EXPECT_TRUE(c.unfair.empty());
  const MetricComparison& loss = metric(c.optimizers[0], "heldout_loss");
  EXPECT_TRUE(loss.is_significant());
  EXPECT_NEAR(loss.ratio(), 2.51 / 2.01, 1e-12);
  EXPECT_GE(loss.p_holm, loss.p);
  EXPECT_FALSE(metric(c.optimizers[1], "heldout_loss").is_significant());
  EXPECT_FALSE(metric(c.optimizers[0], "state_bytes").is_tested());
  EXPECT_EQ(metric(c.optimizers[0], "peak_bytes").b, 16999);
  const std::string text = text_of(c);
  EXPECT_NE(text.find("they differ (3 and 3 seeds)"), std::string::npos) << text;
  EXPECT_NE(text.find("may be chance"), std::string::npos) << text;
}

TEST(Compare, OneSeedHasTooFewLossesButStretchesOfSteps) {
  const OptimizersReport a = made_report({made_row("adamw", {2})});
  OptimizersReport b = a;
  for (double& ms : b.rows[0].runs[0].step_ms) ms *= 1.5;
  const Comparison c = compare(a, b);
  EXPECT_EQ(metric(c.optimizers[0], "heldout_loss").missing, "too few samples");
  const MetricComparison& step = metric(c.optimizers[0], "step_ms");
  EXPECT_EQ(step.samples, "stretches of steps");
  EXPECT_EQ(step.samples_a, 10u);
  EXPECT_NEAR(step.ratio(), 1.5, 1e-12);
}

TEST(Compare, NamesWhatMakesItUnfair) {
  const OptimizersReport a = made_report({made_row("adamw", {2}), made_row("sgd", {3})});
  OptimizersReport b = made_report({made_row("adamw", {2}), made_row("lion", {3})});
  b.machine.set("cpu", "another");
  b.run.set("steps", 80);
  b.run.set("text", "elsewhere/t.txt");  // the same text by its hash
  b.rows[0].runs[0].optimizer = "adamw:lr=0.5";
  const Comparison c = compare(a, b);
  ASSERT_EQ(c.unfair.size(), 3u);
  EXPECT_EQ(c.unfair[0], "cpu: \"a processor\" and \"another\"");
  EXPECT_EQ(c.unfair[1], "steps: 40 and 80");
  EXPECT_EQ(c.unfair[2], "adamw ran as: adamw and adamw:lr=0.5");
  EXPECT_EQ(c.only_a, std::vector<std::string>{"sgd"});
  EXPECT_EQ(c.only_b, std::vector<std::string>{"lion"});
  EXPECT_EQ(to_json(c).at("unfair").items().size(), 3u);
  EXPECT_THROW(compare(made_report({made_row("a", {1})}), made_report({made_row("b", {1})})), Error);
}

}  // namespace
}  // namespace tare::bench
