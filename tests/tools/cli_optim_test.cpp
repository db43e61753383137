// SPDX-License-Identifier: Apache-2.0
// `tare optim`, and runs with 8-bit states from the command line.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "tare/core/json.h"
#include "tare/core/safetensors.h"

#include "tests/tools/command.h"

namespace tare {
namespace {

namespace fs = std::filesystem;

using test::Command;
using test::content_of;

class CliOptimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / ("tare_cli_optim_" + std::to_string(getpid()));
    fs::create_directories(dir_);
    std::ofstream text(dir_ / "text.txt", std::ios::binary);
    for (int i = 0; i < 400; ++i) text << "the quick brown fox " << i % 7 << " jumps over the lazy dog\n";
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  std::vector<std::string> train(std::vector<std::string> more) const {
    std::vector<std::string> words = {"train", "--text", path("text.txt"), "--steps",  "40", "--batch", "2",
                                      "--seq", "16",     "--optimizer",    "adamw8bit"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // A run that is stopped in its middle.
  void stop_at(const std::string& save) const {
    Command stopped(dir_, train({"--save", path(save), "--log", path("log.jsonl")}));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (content_of(path("log.jsonl")).find("\"step\": 8,") == std::string::npos &&
           std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stopped.signal(SIGTERM);
    ASSERT_EQ(stopped.wait(), 128 + SIGTERM) << stopped.err();
    ASSERT_LT(Json::parse_file(path(save) + "/trainer_state.json").at("global_step").as_int(), 40);
  }
  void expect_fault(const std::vector<std::string>& words, const std::string& text) const {
    Command command(dir_, words);
    EXPECT_GT(command.wait(), 0);
    EXPECT_NE(command.err().find(text), std::string::npos) << command.err();
  }

  fs::path dir_;
};

TEST_F(CliOptimTest, ARunInEightBitsIsResumedBitForBitAndConvertedAndResumed) {
  Command straight(dir_, train({"--save", path("straight")}));
  ASSERT_EQ(straight.wait(), 0) << straight.err();
  stop_at("stopped");
  const int64_t done = Json::parse_file(path("stopped/trainer_state.json")).at("global_step").as_int();

  Command resumed(dir_, {"train", "--resume", path("stopped"), "--save", path("resumed")});
  ASSERT_EQ(resumed.wait(), 0) << resumed.err();
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(content_of(path("straight") + "/" + file), content_of(path("resumed") + "/" + file)) << file;

  expect_fault({"train", "--resume", path("stopped"), "--optimizer", "adamw8bit:block=128"}, "block=128");
  Command wide(dir_, {"optim", "convert", path("stopped"), "--optimizer", "adamw", "--save", path("wide")});
  ASSERT_EQ(wide.wait(), 0) << wide.err();
  EXPECT_EQ(content_of(path("stopped/model.safetensors")), content_of(path("wide/model.safetensors")));
  EXPECT_EQ(SafetensorsFile(path("wide/optimizer.safetensors")).metadata().at("optimizer"), "adamw");
  EXPECT_EQ(Json::parse_file(path("wide/trainer_state.json")).at("global_step").as_int(), done);
  Command on(dir_, {"train", "--resume", path("wide"), "--save", path("on")});
  ASSERT_EQ(on.wait(), 0) << on.err();
  EXPECT_EQ(Json::parse_file(path("on/trainer_state.json")).at("global_step").as_int(), 40);

  Command back(
      dir_, {"optim", "convert", path("wide"), "--optimizer", "adamw8bit:block=128", "--save", path("back")});
  ASSERT_EQ(back.wait(), 0) << back.err();
  const auto metadata = SafetensorsFile(path("back/optimizer.safetensors")).metadata();
  EXPECT_NE(metadata.at("settings").find("block=128"), std::string::npos);
  expect_fault({"optim", "convert", path("wide"), "--optimizer", "sgd", "--save", path("sgd")},
               "states of sgd");
  expect_fault({"optim", "convert", path("wide"), "--save", path("back")}, "--overwrite replaces it");
}

TEST_F(CliOptimTest, AnOverrideThatMeetsNoParameterIsAnError) {
  std::vector<std::string> words = train({});
  words.back() = "adamw8bit:32bit=transformer.nothing";
  expect_fault(words, "\"transformer.nothing\", which is no parameter or module");
}

TEST_F(CliOptimTest, TheListHasEveryOptimizerWithOptionsBytesAndSource) {
  Command plain(dir_, {"optim", "list"});
  ASSERT_EQ(plain.wait(), 0) << plain.err();
  const std::string text = plain.out();  // before the next command writes its own
  Command json(dir_, {"optim", "list", "--json", "-"});
  ASSERT_EQ(json.wait(), 0) << json.err();
  const Json list = Json::parse(json.out());
  bool found = false;
  for (const Json& row : list.at("optimizers").items()) {
    const std::string name = row.at("name").as_string();
    EXPECT_NE(text.find(name + ": "), std::string::npos) << name;
    EXPECT_NE(text.find(row.at("source").as_string()), std::string::npos) << name;
    for (const Json& option : row.at("options").items())
      EXPECT_NE(text.find(option.at("meaning").as_string()), std::string::npos) << name;
    if (name != "adamw8bit") continue;
    found = true;
    EXPECT_EQ(row.at("bytes_per_parameter").as_double(), 2.03125);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace tare
