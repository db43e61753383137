// SPDX-License-Identifier: Apache-2.0
// `tare optim`, and runs with 8-bit states from the command line.
#include <algorithm>
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

TEST_F(CliOptimTest, ConvertingNeedsNoDataAndKeepsTheOptionsThatTheTextDoesNotGive) {
  std::vector<std::string> words = train({"--save", path("run")});
  std::replace(words.begin(), words.end(), std::string("adamw8bit"),
               std::string("adamw:lr=2e-3,beta2=0.95,weight_decay=0"));
  std::replace(words.begin(), words.end(), std::string("40"), std::string("3"));
  Command run(dir_, words);
  ASSERT_EQ(run.wait(), 0) << run.err();
  fs::remove(dir_ / "text.txt");
  Command coded(dir_, {"optim", "convert", path("run"), "--optimizer", "adamw8bit:weight_decay=0.1", "--save",
                       path("coded")});
  ASSERT_EQ(coded.wait(), 0) << coded.err();
  const std::string text = "adamw8bit:weight_decay=0.1,lr=2e-3,beta2=0.95";
  EXPECT_NE(coded.out().find("optimizer " + text + ", after 3 of 3 updates"), std::string::npos)
      << coded.out();
  const Json state = Json::parse_file(path("coded/trainer_state.json"));
  EXPECT_EQ(state.at("run").at("optimizer").as_string(), text);
  const auto settings = SafetensorsFile(path("coded/optimizer.safetensors")).metadata().at("settings");
  EXPECT_NE(settings.find("beta2=0.95"), std::string::npos) << settings;
  EXPECT_EQ(content_of(path("run/model.safetensors")), content_of(path("coded/model.safetensors")));
}

TEST_F(CliOptimTest, ConvertingARunOnImagesKeepsItsModelAndCounts) {
  Command run(dir_, {"train", "--model", "vit-tiny", "--steps", "2", "--batch", "2", "--optimizer", "adamw",
                     "--save", path("vit")});
  ASSERT_EQ(run.wait(), 0) << run.err();
  Command coded(dir_, {"optim", "convert", path("vit"), "--optimizer", "adamw8bit", "--save", path("vit8")});
  ASSERT_EQ(coded.wait(), 0) << coded.err();
  EXPECT_EQ(content_of(path("vit/config.json")), content_of(path("vit8/config.json")));
  EXPECT_EQ(content_of(path("vit/model.safetensors")), content_of(path("vit8/model.safetensors")));
  EXPECT_EQ(Json::parse_file(path("vit8/trainer_state.json")).at("images_drawn").as_int(), 4);
}

// The states of a checkpoint with 8-bit moments as bitsandbytes names them.
void write_dump(const std::string& checkpoint, int64_t step, const std::string& dump) {
  const SafetensorsFile file(checkpoint + "/optimizer.safetensors");
  std::vector<std::pair<std::string, Tensor>> tensors;
  const std::pair<std::string, std::string> names[] = {{".exp_avg", ".state1"},
                                                       {".exp_avg_absmax", ".absmax1"},
                                                       {".exp_avg_sq", ".state2"},
                                                       {".exp_avg_sq_absmax", ".absmax2"}};
  for (const SafetensorsEntry& entry : file.entries())
    for (const auto& [ours, theirs] : names) {
      if (!entry.name.ends_with(ours)) continue;
      const std::string parameter = entry.name.substr(0, entry.name.size() - ours.size());
      tensors.emplace_back(parameter + theirs, file.tensor(entry.name));
      if (theirs == ".state1") tensors.emplace_back(parameter + ".step", Tensor::full({}, double(step)));
    }
  save_safetensors(dump, tensors);
}

TEST_F(CliOptimTest, ARunGoesOnFromADumpOfBitsandbytesAfterItsUpdates) {
  Command straight(dir_, train({"--save", path("straight")}));
  ASSERT_EQ(straight.wait(), 0) << straight.err();
  stop_at("stopped");
  const int64_t done = Json::parse_file(path("stopped/trainer_state.json")).at("global_step").as_int();
  write_dump(path("stopped"), done, path("same.safetensors"));
  write_dump(path("stopped"), 30, path("later.safetensors"));
  write_dump(path("stopped"), 41, path("beyond.safetensors"));
  const auto import = [&](const char* run, const char* dump, const char* save) {
    return std::vector<std::string>{"optim",    "convert",   path(run),       "--from-bitsandbytes",
                                    path(dump), "--weights", path("stopped"), "--save",
                                    path(save)};
  };
  // Into the finished run, whose count, weights and states are others: nothing of them remains.
  Command same(dir_, import("straight", "same.safetensors", "same"));
  ASSERT_EQ(same.wait(), 0) << same.err();
  Command resumed(dir_, {"train", "--resume", path("same"), "--save", path("resumed")});
  ASSERT_EQ(resumed.wait(), 0) << resumed.err();
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(content_of(path("straight") + "/" + file), content_of(path("resumed") + "/" + file)) << file;

  Command later(dir_, import("stopped", "later.safetensors", "later"));
  ASSERT_EQ(later.wait(), 0) << later.err();
  const Json state = Json::parse_file(path("later/trainer_state.json"));
  EXPECT_EQ(state.at("global_step").as_int(), 30);
  EXPECT_EQ(state.at("windows_drawn").as_int(), 60);
  Command on(dir_, {"train", "--resume", path("later"), "--log", path("on.jsonl"), "--save", path("on")});
  ASSERT_EQ(on.wait(), 0) << on.err();
  EXPECT_EQ(test::lines_with(path("on.jsonl"), "grad_norm"), 10);
  expect_fault(import("stopped", "beyond.safetensors", "beyond"),
               "states after 41 updates, but the run ends after 40");
  EXPECT_FALSE(fs::exists(path("beyond")));
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
