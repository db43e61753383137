// SPDX-License-Identifier: Apache-2.0
// `tare bench optimizers`, compare and page as a user runs them.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tare/core/json.h"

#include "tests/support/temp_dir.h"
#include "tests/tools/command.h"

namespace tare::test {
namespace {

class BenchCliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream text(dir_ / "text <&>.txt", std::ios::binary);
    for (int i = 0; i < 400; ++i) text << "the quick brown fox " << i % 7 << " jumps over the lazy dog\n";
  }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }

  // On a noisy machine a roof may come out below a copy, which the command refuses to call a measurement.
  static void expect_success(Command& command) {
    const int status = command.wait();
    if (status != 0 && command.err().find("too noisy") == std::string::npos) FAIL() << command.err();
  }

  std::vector<std::string> optimizers(const std::string& list, std::vector<std::string> more) const {
    std::vector<std::string> words = {"bench",          "optimizers", "--text",    path("text <&>.txt"),
                                      "--optimizers",   list,         "--steps",   "6",
                                      "--batch",        "2",          "--seq",     "16",
                                      "--eval-windows", "4",          "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void expect_fault(const std::vector<std::string>& words, const std::string& text) const {
    Command command(dir_.path(), words);
    EXPECT_GT(command.wait(), 0) << text;
    EXPECT_NE(command.err().find(text), std::string::npos) << command.err();
  }

  TempDir dir_;
};

TEST_F(BenchCliTest, SeedsTuningAndEveryOutput) {
  Command command(dir_.path(),
                  optimizers("adamw:lr=1e-3,sgd:lr=1e30",
                             {"--seeds", "2", "--tune", "--tune-steps", "2", "--seed", "5", "--json",
                              path("r.json"), "--csv", path("r.csv"), "--report", path("r.html")}));
  expect_success(command);
  const Json report = Json::parse_file(path("r.json"));
  ASSERT_EQ(report.at("rows").items().size(), 2u);
  const Json& row = report.at("rows").items()[0];
  EXPECT_EQ(row.at("optimizer").as_string(), "adamw:lr=1e-3");
  ASSERT_EQ(row.at("runs").items().size(), 2u);
  const Json &first = row.at("runs").items()[0], &second = row.at("runs").items()[1];
  EXPECT_EQ(first.at("seed").as_int(), 5);
  EXPECT_EQ(second.at("seed").as_int(), 6);
  const double a = first.at("heldout_loss").as_double(), b = second.at("heldout_loss").as_double();
  EXPECT_NE(a, b);
  EXPECT_NEAR(row.at("heldout_loss").as_double(), (a + b) / 2, 1e-12);
  EXPECT_NEAR(row.at("heldout_loss_spread").as_double(), std::abs(a - b) / std::sqrt(2), 1e-12);
  EXPECT_EQ(first.at("curve").at("loss").items().size(), 6u);
  const Json& tuning = row.at("tuning");
  EXPECT_EQ(tuning.at("seed").as_int(), 7);
  EXPECT_EQ(tuning.at("steps").as_int(), 2);
  ASSERT_GE(tuning.at("points").items().size(), 5u);
  double best = 0, least = INFINITY;
  for (const Json& point : tuning.at("points").items()) {
    const double loss = point.at("heldout_loss").as_double();
    least = std::min(least, loss);
    if (point.at("lr") == tuning.at("best_lr")) best = loss;
  }
  EXPECT_EQ(best, least);
  EXPECT_EQ(row.at("optimizer_ran").as_string(), "adamw:lr=" + tuning.at("best_lr").dump());

  const Json& diverged = report.at("rows").items()[1];
  EXPECT_EQ(diverged.at("diverged").as_int(), 2);
  EXPECT_TRUE(std::isnan(diverged.at("heldout_loss").as_double()));
  EXPECT_NE(command.out().find("sgd:lr=1e30, seed 5: diverged at step "), std::string::npos) << command.out();

  const std::string csv = content_of(path("r.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_NE(content_of(path("r.html")).find("text &lt;&amp;&gt;.txt"), std::string::npos);

  Command page(dir_.path(), {"bench", "page", path("r.json"), path("again.html")});
  ASSERT_EQ(page.wait(), 0) << page.err();
  EXPECT_EQ(content_of(path("again.html")), content_of(path("r.html")));

  Command compare(dir_.path(),
                  {"bench", "compare", path("r.json"), path("r.json"), "--json", path("c.json")});
  ASSERT_EQ(compare.wait(), 0) << compare.err();
  EXPECT_EQ(Json::parse_file(path("c.json")).at("unfair").items().size(), 0u);
  EXPECT_NE(compare.out().find("equal"), std::string::npos) << compare.out();
}

TEST_F(BenchCliTest, ARunIsTheSameAloneAndAmongOthers) {
  Command both(dir_.path(), optimizers("adamw,sgd", {"--seeds", "2", "--json", path("both.json")}));
  expect_success(both);
  Command alone(dir_.path(), optimizers("sgd", {"--seed", "1338", "--json", path("alone.json")}));
  expect_success(alone);
  EXPECT_EQ(
      Json::parse_file(path("both.json")).at("rows").items()[1].at("runs").items()[1].at("heldout_loss"),
      Json::parse_file(path("alone.json")).at("rows").items()[0].at("runs").items()[0].at("heldout_loss"));
}

TEST_F(BenchCliTest, WhatIsWrongIsSaidBeforeAnythingIsMeasured) {
  expect_fault(optimizers("adamw", {"--seeds", "0"}), "--seeds 0");
  expect_fault(optimizers("adamw", {"--tune-steps", "3"}), "needs --tune");
  expect_fault(optimizers("adamw", {"--peers", path("p.json")}), "needs --report");
  expect_fault(optimizers("adamw", {"--json", path("x"), "--csv", path("x")}), "one file for two outputs");
  expect_fault(optimizers("adamw", {"--peers", path("p.json"), "--report", path("x.html")}), "p.json");
  expect_fault(optimizers("adamw:beta9=1", {}), "beta9");
  expect_fault({"bench", "compare", path("none.json"), path("none.json")}, "none.json");
  std::ofstream(dir_ / "other.json") << "{\"rows\": []}";
  expect_fault({"bench", "compare", path("other.json"), path("other.json")},
               "not a report of tare bench optimizers");
  expect_fault({"bench", "page", path("other.json"), path("x.html")},
               "not a report of tare bench optimizers");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "x"));
}

TEST_F(BenchCliTest, UpdatesAlone) {
  Command command(dir_.path(), {"bench", "update", "--model", "demo", "--optimizers", "adamw,sgd",
                                "--repeats", "3", "--clip", "1", "--json", path("u.json")});
  ASSERT_EQ(command.wait(), 0) << command.err();
  const Json report = Json::parse_file(path("u.json"));
  ASSERT_EQ(report.at("rows").items().size(), 2u);
  const int64_t states[] = {8 * 858880, 0};
  for (size_t i = 0; i < 2; ++i) {
    const Json& row = report.at("rows").items()[i];
    EXPECT_EQ(row.at("state_bytes").as_int(), states[i]);
    EXPECT_GT(row.at("step_ms").as_double(), row.at("update_ms").as_double());  // with the norm
    EXPECT_GT(row.at("roof_gbps").as_double(), 0);
  }
  EXPECT_EQ(report.at("rows").items()[0].at("bytes").as_double(), 28 * 858880);
  expect_fault({"bench", "update", "--optimizers", "adamw,sgd", "--turns"}, "expected one optimizer");
  expect_fault({"bench", "update", "--optimizers", "adamw", "--repeats", "0"}, "--repeats 0");
}

TEST_F(BenchCliTest, TakesTurnsWithAnotherProgram) {
  const std::string binary = std::string(TARE_BINARY_DIR) + "/bin/tare";
  const auto lines_of = [&](const std::string& options) {
    const std::string out = path("turns.out");
    const std::string command = "printf 'go\\ngo\\n' | " + binary + " bench " + options + " --turns > " + out;
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::vector<Json> lines;
    std::ifstream in(out);
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  };
  for (const char* options :
       {"step --model demo --batch 2 --seq 16", "update --model demo --optimizers adamw"}) {
    const std::vector<Json> lines = lines_of(options);
    ASSERT_EQ(lines.size(), 4u) << options;
    EXPECT_TRUE(lines[0].at("ready").as_bool());
    EXPECT_GT(lines[1].at("ms").as_double(), 0);
    EXPECT_GT(lines[2].at("ms").as_double(), 0);
  }
  EXPECT_GT(lines_of("step --model demo --batch 2 --seq 16")[3].at("rss_peak_bytes").as_int(), 0);
}

}  // namespace
}  // namespace tare::test
