// SPDX-License-Identifier: Apache-2.0
// The page of a report: whole, self-contained, safe against any text, and its charts agree with its figures.
#include "tare/bench/report/page.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tare/bench/report/axis.h"
#include "tare/bench/report/markup.h"
#include "tare/bench/report/svg.h"

#include "tests/bench/reports.h"
#include "tests/support/temp_dir.h"

namespace tare::bench {
namespace {

using test::made_report;
using test::made_row;

OptimizersReport full_report() {
  OptimizersReport report =
      made_report({made_row("sgd:lr=0.3,momentum=0.9", {2.5, 2.6, 2.4}),
                   made_row("adamw:lr=2e-3", {2.0, 2.01, 1.99}), made_row("sgd:lr=1e30", {1, 1, 1})});
  report.rows[0].runs[0].state_bytes = 0;
  for (OptimizerRun& run : report.rows[2].runs) test::diverge(run, 3);
  report.rows[1].tuning = Tuning{
      40, 10,
      LearningRateSearch(2e-3, {{0.5, 1e-3, 2.2, 2.2, 0}, {1, 2e-3, 2, 2, 0}, {2, 4e-3, NAN, NAN, 4}})};
  return report;
}

Peers some_peers() {
  Peers peers{Json::object(), Json::object(), "bench/peers/run", "2026-01-01", {}};
  peers.groups.push_back({"A training step",
                          {{.name = "Tare", .library = "tare 0.1.0", .ms = 123.456, .scatter = 0.05},
                           {.name = "PyTorch, eager",
                            .library = "torch 2",
                            .ms = 187.25,
                            .scatter = 0.1,
                            .against = "Tare",
                            .ratio = 1.5167}}});
  return peers;
}

// Names of the elements in the order in which they open; fails on one that is closed in another order.
std::vector<std::string> parsed(const std::string& html) {
  std::vector<std::string> open, all;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    const std::string inner = html.substr(at + 1, end - at - 1);
    if (inner.starts_with("!")) continue;
    const bool closes = inner.starts_with("/");
    const std::string name = inner.substr(closes, inner.find_first_of(" /", closes) - closes);
    if (closes) {
      EXPECT_FALSE(open.empty());
      if (open.empty()) break;
      EXPECT_EQ(open.back(), name);
      open.pop_back();
      continue;
    }
    all.push_back(name);
    if (!inner.ends_with("/")) open.push_back(name);
    if (name == "style") {
      at = html.find("</style>", at) - 1;
    }
  }
  EXPECT_TRUE(open.empty());
  return all;
}

size_t count(const std::vector<std::string>& names, const std::string& name) {
  return size_t(std::count(names.begin(), names.end(), name));
}

TEST(Page, IsBalancedAndSelfContained) {
  const std::string html = report_page(full_report(), some_peers());
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  const std::vector<std::string> names = parsed(html);
  EXPECT_EQ(count(names, "html"), 1u);
  EXPECT_EQ(count(names, "svg"), 7u);
  EXPECT_GE(count(names, "table"), 7u);
  for (const char* foreign : {"script", "link", "img", "iframe", "object"})
    EXPECT_EQ(count(names, foreign), 0u);
  for (const char* outside : {"http:", "https:", "url(", "@import", "nan", "inf\"", "NaN"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  for (const char* wanted : {"prefers-color-scheme: dark", "@media print", "width=device-width"})
    EXPECT_NE(html.find(wanted), std::string::npos) << wanted;
}

TEST(Page, TheFiguresOfEveryChartStandInATable) {
  const OptimizersReport report = full_report();
  const std::string html = report_page(report, some_peers());
  const auto expect_cell = [&](const std::string& text) {
    EXPECT_NE(html.find("<td>" + text + "</td>"), std::string::npos) << text;
  };
  for (const OptimizerRow& row : report.rows) {
    const LossCurve curve = row.curve();
    for (size_t i = 0; i < curve.step.size(); ++i) {
      expect_cell(fixed(curve.loss[i], 4));
      expect_cell(fixed(curve.seconds[i], 3));
    }
    for (const int64_t bytes : row.largest().peak)
      if (bytes != 0) expect_cell(grouped(bytes));
    expect_cell(grouped(row.first().state_bytes));
    if (row.diverged() == 0) {
      expect_cell(fixed(row.update_ms(), 3));
      expect_cell(fixed(row.roof_ms(), 3));
      expect_cell(fixed(row.percent_of_roof(), 1));
    }
  }
  for (const char* text :
       {"2.0000 \u00b1 0.0100", "diverged (3 of 3)", "diverged at 4", "chosen", "187.250", "1.52"})
    expect_cell(text);
}

TEST(Page, NoTextBecomesMarkup) {
  OptimizersReport report = full_report();
  const std::string nasty = "<script>alert('&')</script>\"\x01";
  report.rows[0].optimizer = nasty;
  report.run.set("text", "a<b>&c.txt");
  report.run.set("model", "models/<i>");
  report.machine.set("cpu", "<b>");
  report.command = "tare --text 'a<b>'";
  Peers peers = some_peers();
  peers.groups[0].rows[0].name = nasty;
  const std::string html = report_page(report, peers);
  const std::vector<std::string> names = parsed(html);
  EXPECT_EQ(count(names, "script"), 0u);
  EXPECT_EQ(count(names, "b") + count(names, "i"), 0u);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;&quot;\uFFFD"), std::string::npos);
  EXPECT_NE(html.find("a&lt;b&gt;&amp;c.txt"), std::string::npos);
}

TEST(Page, ShowsTheAccuracyAndTheSyntheticDataOfImages) {
  OptimizersReport report = made_report({made_row("adamw", {2, 2.1}), made_row("sgd", {2})});
  report.run = Json::object({{"data", "synthetic"}, {"model", "vit-tiny"}, {"steps", 40}, {"batch", 8}});
  for (OptimizerRow& row : report.rows)
    for (OptimizerRun& run : row.runs) {
      run.items = "images";
      run.heldout_accuracy = 0.25;
    }
  report.rows[0].runs[0].heldout_accuracy = 0.75;
  test::diverge(report.rows[1].runs[0], 5);
  report.rows[1].runs[0].heldout_accuracy.reset();
  const std::string html = report_page(report);
  parsed(html);
  EXPECT_NE(html.find("<td>50.00 \u00b1 35.36 %</td>"), std::string::npos);
  EXPECT_NE(html.find("synthetic images"), std::string::npos);
}

TEST(Page, HoldsOneRowOfOneStep) {
  OptimizersReport report = made_report({made_row("adamw", {2})});
  OptimizerRun& run = report.rows[0].runs[0];
  run.curve = thinned({0.1}, {2.5});
  run.step_ms = {20};
  run.update_ms = {2};
  parsed(report_page(report));
  test::diverge(run, 1);  // and none at all
  const std::string html = report_page(report);
  parsed(html);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Page, ChromiumShowsItWithoutAnError) {
  const char* found = nullptr;
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (std::filesystem::exists(path)) found = path;
  if (!found) GTEST_SKIP() << "no chromium here";
  const tare::test::TempDir dir;
  std::ofstream(dir / "page.html") << report_page(full_report(), some_peers());
  for (const char* size : {"1120,3000", "400,3000"}) {
    const std::string picture = (dir / "page.png").string(), log = (dir / "log").string();
    std::filesystem::remove(picture);
    const std::string command =
        std::string("timeout 120 ") + found +
        " --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir=" +
        (dir / "profile").string() + " --window-size=" + size + " --screenshot=" + picture + " file://" +
        (dir / "page.html").string() + " > " + log + " 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::ifstream in(log);
    const std::string said((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(said.find("CONSOLE"), std::string::npos) << said;
    ASSERT_TRUE(std::filesystem::exists(picture)) << said;
    EXPECT_GT(std::filesystem::file_size(picture), 30'000u) << "nearly empty: " << said;
  }
}

TEST(Page, MarkupIsClosed) {
  Markup out;
  out.open("p");
  EXPECT_THROW(out.finish(), Error);
  out.close();
  EXPECT_THROW(out.close(), Error);
}

TEST(Axis, TicksAreRoundAndInside) {
  EXPECT_EQ(ticks({.low = 0, .high = 1000}, 5), (std::vector<double>{0, 200, 400, 600, 800, 1000}));
  EXPECT_EQ(ticks({.low = -0.1, .high = 0.4}, 5).size(), 6u);
  EXPECT_FALSE(std::signbit(ticks({.low = -1, .high = 1}, 2)[1]));
  const std::vector<double> decades = ticks({.low = 90, .high = 2e6, .is_log = true}, 5);
  EXPECT_EQ(decades, (std::vector<double>{100, 1000, 1e4, 1e5, 1e6}));
  EXPECT_EQ(ticks({.low = 0.9, .high = 11, .is_log = true}, 5), (std::vector<double>{1, 2, 5, 10}));
}

TEST(Axis, FiguresAsText) {
  EXPECT_EQ(grouped(995518464), "995,518,464");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(short_bytes(1286468), "1.29 MB");
  EXPECT_EQ(short_bytes(999), "999 B");
  EXPECT_EQ(short_bytes(999999), "1 MB");
  EXPECT_EQ(short_number(0.0012), "0.0012");
  EXPECT_EQ(short_number(12), "12");
  EXPECT_EQ(short_number(1e9), "1e9");
  EXPECT_EQ(short_number(2.5e-7), "2.5e-7");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(fixed(NAN, 2), "-");
}

TEST(Axis, LabelsKeepApartAndInside) {
  const std::vector<double> places = kept_apart({50, 51, 52, 10}, 14, 0, 100);
  EXPECT_NEAR(places[1] - places[0], 14, 1e-9);
  EXPECT_NEAR(places[2] - places[1], 14, 1e-9);
  EXPECT_NEAR(places[1], 51, 1e-9);
  EXPECT_EQ(places[3], 10);
  for (const double y : kept_apart({99, 99, 99}, 10, 0, 100)) EXPECT_LE(y, 100);
  EXPECT_EQ(shortened("adamw:lr=1", 5), "adam\u2026");
  EXPECT_EQ(shortened("\u00e4\u00f6\u00fc", 3), "\u00e4\u00f6\u00fc");
}

}  // namespace
}  // namespace tare::bench
