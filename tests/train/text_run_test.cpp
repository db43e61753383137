// SPDX-License-Identifier: Apache-2.0
// A training run as a whole: it learns, resumes bit for bit, and refuses what would make it another run.
#include "tare/train/text_run.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tare/core/parallel.h"

namespace tare::train {
namespace {

namespace fs = std::filesystem;

class TextRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / ("tare_run_" + std::to_string(getpid()));
    fs::create_directories(dir_);
    std::ofstream out(dir_ / "text.txt", std::ios::binary);
    for (int i = 0; i < 400; ++i) out << "the quick brown fox " << i % 7 << " jumps over the lazy dog\n";
  }
  void TearDown() override { fs::remove_all(dir_); }

  RunOptions options() const {
    RunOptions o;
    o.text = (dir_ / "text.txt").string();
    o.model = "demo";
    o.optimizer = "adamw:lr=1e-3";
    o.steps = 6;
    o.batch = 2;
    o.seq = 16;
    o.warmup = 2;
    o.clip = 1;
    o.dropout = 0.1;
    return o;
  }

  static std::vector<float> weights(TextRun& run) {
    std::vector<float> all;
    for (const auto& p : run.model().named_parameters()) {
      const auto values = p.var->value().to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  std::string fault(const std::function<void(RunOptions&)>& change,
                    const std::function<void(TextRun&)>& use = {}) const {
    RunOptions o = options();
    change(o);
    try {
      TextRun run(o);
      if (use) use(run);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  fs::path dir_;
};

TEST_F(TextRunTest, TheLossFalls) {
  RunOptions o = options();
  o.steps = 30;
  o.dropout = 0;
  o.schedule = "constant";
  TextRun run(o);
  const double before = run.evaluate(0).loss;
  EXPECT_NEAR(before, std::log(256.0), 0.3);
  double first = 0, last = 0;
  while (!run.done()) {
    const StepResult r = run.step();
    if (r.step == 1) first = r.loss;
    last = r.loss;
  }
  EXPECT_LT(last, first - 1);
  EXPECT_LT(run.evaluate(0).loss, before - 1);
}

TEST_F(TextRunTest, ResumedInMidRunItEqualsTheStraightRunBitForBit) {
  for (const char* optimizer : {"adamw:lr=1e-3", "sgd:lr=0.1,momentum=0.9"}) {
    RunOptions o = options();
    o.optimizer = optimizer;
    TextRun straight(o);
    while (!straight.done()) straight.step();
    {
      TextRun first(o);
      for (int i = 0; i < 3; ++i) first.step();
      first.save(dir_ / "checkpoint");
    }
    TextRun resumed(o);
    EXPECT_TRUE(resumed.resume(dir_ / "checkpoint").empty());
    EXPECT_EQ(resumed.steps_done(), 3);
    while (!resumed.done()) resumed.step();
    EXPECT_EQ(weights(straight), weights(resumed)) << optimizer;
    EXPECT_EQ(straight.evaluate(0).loss, resumed.evaluate(0).loss);
  }
}

TEST_F(TextRunTest, ACheckpointIsAModelToStartFrom) {
  TextRun run(options());
  run.step();
  run.save(dir_ / "checkpoint");
  RunOptions o = options();
  o.model = (dir_ / "checkpoint").string();
  TextRun other(o);
  EXPECT_EQ(weights(run), weights(other));
  EXPECT_EQ(other.steps_done(), 0);
}

TEST_F(TextRunTest, ARunGoesOnWithoutTheFolderThatItsModelCameFrom) {
  TextRun first(options());
  first.step();
  first.save(dir_ / "origin");
  RunOptions o = options();
  o.model = (dir_ / "origin").string();
  TextRun run(o);
  run.step();
  run.save(dir_ / "checkpoint");
  fs::remove_all(dir_ / "origin");
  TextRun resumed(TextRun::options_of(dir_ / "checkpoint"), dir_ / "checkpoint");
  resumed.resume(dir_ / "checkpoint");
  EXPECT_EQ(weights(run), weights(resumed));
}

TEST_F(TextRunTest, AnotherArchitectureOfTheSameSizeIsAnError) {
  TextRun run(options());
  run.save(dir_ / "origin");
  run.save(dir_ / "checkpoint");
  Json config = Json::parse_file(dir_ / "origin" / "config.json");
  config.set("n_head", 8);
  std::ofstream(dir_ / "origin" / "config.json") << config.dump();
  RunOptions o = options();
  o.model = (dir_ / "origin").string();
  TextRun other(o);
  EXPECT_THROW(other.resume(dir_ / "checkpoint"), Error);
}

TEST_F(TextRunTest, AnEvaluationCanBeCutShort) {
  TextRun run(options());
  int64_t asked = 0;
  const Evaluation all = run.evaluate(0);
  const Evaluation cut = run.evaluate(0, [&](int64_t done, int64_t of) {
    EXPECT_EQ(of, all.samples);
    ++asked;
    return done == 0;
  });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(cut.samples, 16);
  EXPECT_GT(all.samples, 16);
  EXPECT_EQ(cut.items, 16 * options().seq);
  EXPECT_EQ(run.evaluate(0, [](int64_t, int64_t) { return false; }).items, 0);
}

TEST_F(TextRunTest, OtherOptionsThanTheCheckpointsAreErrorsThatNameTheField) {
  {
    TextRun run(options());
    run.step();
    run.save(dir_ / "checkpoint");
  }
  const auto resume = [&](TextRun& run) { run.resume(dir_ / "checkpoint"); };
  EXPECT_EQ(fault([](RunOptions&) {}, resume), "");
  EXPECT_NE(fault([](RunOptions& o) { o.batch = 3; }, resume).find("batch was 2, this run has 3"),
            std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.seq = 8; }, resume).find("seq was 16"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.optimizer = "sgd"; }, resume).find("optimizer was"),
            std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.optimizer = "adamw:lr=2e-3"; }, resume).find("optimizer was"),
            std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.model = "small"; }, resume).find("parameters was"),
            std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.dropout = 0; }, resume).find("dropout was"), std::string::npos);
  std::ofstream(dir_ / "text.txt", std::ios::app) << "one line more\n";
  EXPECT_NE(fault([](RunOptions&) {}, resume).find("text_hash was"), std::string::npos);
}

TEST_F(TextRunTest, ADifferentNumberOfThreadsIsWarnedOf) {
  TextRun run(options());
  run.step();
  run.save(dir_ / "checkpoint");
  const int threads = num_threads();
  set_num_threads(threads + 1);
  TextRun other(options());
  const auto warnings = other.resume(dir_ / "checkpoint");
  set_num_threads(threads);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("threads"), std::string::npos);
}

TEST_F(TextRunTest, DamagedCheckpointsAreErrorsAndChangeNothing) {
  TextRun run(options());
  run.step();
  run.save(dir_ / "checkpoint");
  const auto before = weights(run);
  for (const char* name : {"optimizer.safetensors", "model.safetensors", "trainer_state.json"}) {
    fs::copy(dir_ / "checkpoint", dir_ / "damaged", fs::copy_options::recursive);
    fs::resize_file(dir_ / "damaged" / name, fs::file_size(dir_ / "damaged" / name) / 2);
    try {
      run.resume(dir_ / "damaged");
      ADD_FAILURE() << name << ": no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
    }
    EXPECT_EQ(weights(run), before) << name;
    fs::remove_all(dir_ / "damaged");
  }
  EXPECT_THROW(run.resume(dir_ / "nowhere"), Error);
}

TEST_F(TextRunTest, BadOptionsAreErrorsThatNameThem) {
  EXPECT_NE(fault([](RunOptions& o) { o.steps = 0; }).find("steps 0"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.batch = 0; }).find("batch 0"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.dropout = 1; }).find("dropout 1"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.clip = -1; }).find("clip -1"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.warmup = 7; }).find("warm-up of 7"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.seq = 257; }).find("exceeds the 256 positions"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.model = "gpt3"; }).find("gpt3"), std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.optimizer = "adamw:lr=-1"; }).find("learning rate -1"),
            std::string::npos);
  EXPECT_NE(fault([](RunOptions& o) { o.text = "/nowhere"; }).find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace tare::train
