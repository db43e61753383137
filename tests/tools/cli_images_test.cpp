// SPDX-License-Identifier: Apache-2.0
// Training on images as a user runs it.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/json.h"

#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/command.h"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kImages = 120, kSide = 28;

class CliImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "digits");
    put_file(dir_ / "digits/t10k-images-idx3-ubyte.gz", gzipped(idx_bytes({kImages, kSide, kSide})));
    std::string labels = idx_header({kImages});
    for (uint32_t i = 0; i < kImages; ++i) labels += char(i % 10);
    put_file(dir_ / "digits/t10k-labels-idx1-ubyte.gz", gzipped(labels));
    put_file(dir_ / "text.txt", std::string(400, 'a'));
  }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  std::vector<std::string> train(std::vector<std::string> more) const {
    std::vector<std::string> words = {"train",  "--task",       "images",  "--model", "vit-tiny",
                                      "--data", path("digits"), "--batch", "16"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  void expect_fault(const std::vector<std::string>& words, const std::string& text) const {
    Command command(dir_.path(), words);
    EXPECT_EQ(command.wait(), 1);
    EXPECT_NE(command.err().find(text), std::string::npos) << command.err();
  }

  TempDir dir_;
};

TEST_F(CliImagesTest, TrainingTellsTheAccuracyInLinesLogAndSummary) {
  Command command(dir_.path(), train({"--epochs", "2", "--augment", "shift:2", "--eval-every", "6", "--json",
                                      path("summary.json"), "--log", path("log.jsonl")}));
  ASSERT_EQ(command.wait(), 0) << command.err();
  EXPECT_NE(command.err().find("accuracy"), std::string::npos) << command.err();
  EXPECT_NE(command.err().find("over 12 of 12 images, all of them"), std::string::npos) << command.err();
  EXPECT_NE(command.err().find("images/s"), std::string::npos) << command.err();
  const Json summary = Json::parse_file(path("summary.json"));
  EXPECT_EQ(Json::parse(command.out()), summary);
  EXPECT_EQ(summary.at("steps").as_int(), 12);  // 108 images fill 6 batches of 16
  EXPECT_EQ(summary.at("heldout_images").as_int(), 12);
  for (const char* key : {"heldout_accuracy", "heldout_loss", "images_per_s", "train_loss"})
    EXPECT_TRUE(summary.at(key).is_number()) << key;
  EXPECT_EQ(summary.find("tokens_per_s"), nullptr);
  const Json& run = summary.at("run");
  EXPECT_EQ(run.at("task").as_string(), "images");
  EXPECT_EQ(run.at("train_images").as_int(), 108);
  EXPECT_EQ(run.at("augment").as_string(), "shift:2");
  EXPECT_EQ(lines_with(path("log.jsonl"), "accuracy"), 12);
  EXPECT_EQ(lines_with(path("log.jsonl"), "heldout_accuracy"), 2);
}

TEST_F(CliImagesTest, WithoutDataTheImagesAreSyntheticAndTheSummarySaysSo) {
  Command command(dir_.path(), {"train", "--model", "vit-tiny", "--steps", "2", "--batch", "4"});
  ASSERT_EQ(command.wait(), 0) << command.err();
  const Json run = Json::parse(command.out()).at("run");
  EXPECT_EQ(run.at("data").as_string(), "synthetic");
  EXPECT_EQ(run.at("steps").as_int(), 2);
}

TEST_F(CliImagesTest, OfImagesTheModelIsVitTinyUnlessNamed) {
  Command command(dir_.path(), {"train", "--task", "images", "--steps", "1", "--batch", "2"});
  ASSERT_EQ(command.wait(), 0) << command.err();
  EXPECT_EQ(Json::parse(command.out()).at("run").at("model").as_string(), "vit-tiny");
}

TEST_F(CliImagesTest, StoppedBySigtermAndResumedItEqualsTheStraightRun) {
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--epochs", "20", "--augment", "shift:1", "--dropout", "0.1", "--clip", "1"});
    return train(std::move(more));
  };
  Command straight(dir_.path(), with({"--save", path("straight")}));
  ASSERT_EQ(straight.wait(), 0) << straight.err();
  Command stopped(dir_.path(), with({"--save", path("stopped"), "--log", path("log.jsonl")}));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (content_of(path("log.jsonl")).find("\"step\": 10,") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  stopped.signal(SIGTERM);
  EXPECT_EQ(stopped.wait(), 128 + SIGTERM) << stopped.err();
  EXPECT_LT(Json::parse_file(path("stopped/trainer_state.json")).at("global_step").as_int(), 120);

  expect_fault({"train", "--resume", path("stopped"), "--epochs", "3"}, "steps was 120, this run has 18");
  expect_fault({"train", "--resume", path("stopped"), "--augment", "shift:2"}, "augment was");
  expect_fault({"train", "--resume", path("stopped"), "--text", path("text.txt")}, "--text: model vit-tiny");
  expect_fault({"train", "--resume", path("stopped"), "--model", "demo"}, "model demo is of task text");
  Command resumed(dir_.path(), {"train", "--resume", path("stopped")});
  ASSERT_EQ(resumed.wait(), 0) << resumed.err();
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(read_file(dir_ / "stopped" / file), read_file(dir_ / "straight" / file)) << file;
}

TEST_F(CliImagesTest, WhatIsWrongIsOneClearLine) {
  expect_fault(train({"--text", path("text.txt")}), "--text: model vit-tiny is of task images");
  expect_fault(train({"--seq", "8"}), "--seq: model vit-tiny is of task images");
  expect_fault({"train", "--text", path("text.txt"), "--epochs", "2"},
               "--epochs: model demo is of task text");
  expect_fault({"train", "--data", path("digits")}, "--data: model demo is of task text");
  expect_fault({"train", "--augment", "shift:1"}, "--augment: model demo is of task text");
  expect_fault({"train", "--task", "text", "--model", "vit-tiny"},
               "task text: model vit-tiny is of task images");
  expect_fault({"train", "--task", "images", "--model", "demo"}, "model demo is of task text");
  expect_fault({"train", "--task", "sounds"}, "task sounds: expected text or images");
  expect_fault(train({"--epochs", "1", "--steps", "2"}), "--epochs and --steps");
  expect_fault(train({"--epochs", "0"}), "--epochs 0");
  expect_fault(train({"--augment", "flip"}), "augment flip");
  expect_fault({"train", "--model", "vit-tiny", "--data", path("nowhere")}, "no such folder");
  expect_fault({"train", "--model", "vit-tiny", "--data", path("text.txt")}, "no such folder");
  expect_fault({"train", "--model", "vit-tiny", "--data", path("digits"), "--batch", "109"},
               "batch of 109 images, but there are 108");
  expect_fault(train({"--log", path("digits/log")}), "lies in the data");
  expect_fault({"train", "--model", "vit-huge"}, "vit-huge");
  put_file(dir_ / "digits/t10k-labels-idx1-ubyte.gz", gzipped(idx_bytes({kImages})));
  expect_fault(train({}), "has 10 classes");
  put_file(dir_ / "digits/t10k-labels-idx1-ubyte.gz", "no labels");
  expect_fault(train({}), "t10k-labels-idx1-ubyte.gz: begins with 0x6e6f206c");
}

}  // namespace
}  // namespace tare::test
