// SPDX-License-Identifier: Apache-2.0
// Training on images: it learns, resumes bit for bit, and refuses what would make it another run. The model
// is a small perceptron.
#include "tare/train/image_run.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "tare/nn/dropout.h"
#include "tare/nn/linear.h"
#include "tare/nn/pretrained.h"

#include "tests/support/expect_error.h"
#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"

namespace tare::train {
namespace {

namespace fs = std::filesystem;
using test::put_file;

constexpr int64_t kSide = 8, kClasses = 10, kHidden = 32;

class Perceptron : public nn::ImageClassifier {
 public:
  explicit Perceptron(double p) : in(kSide * kSide, kHidden), drop(p), out(kHidden, kClasses) {
    register_module("in", in);
    register_module("drop", drop);
    register_module("out", out);
  }
  int64_t num_classes() const override { return kClasses; }
  int64_t num_channels() const override { return 1; }
  int64_t image_size() const override { return kSide; }
  Var forward(const Tensor& images) const override {
    const nn::ForwardScope scope(*this);
    const Var x(images.view({images.size(0), kSide * kSide}));
    return out.forward(drop.forward(relu(in.forward(x))));
  }
  std::string describe() const override { return "Perceptron"; }

  nn::Linear in;
  nn::Dropout drop;
  nn::Linear out;
};

class PerceptronRun : public ImageRun {
 public:
  explicit PerceptronRun(const RunOptions& options)
      : ImageRun(options, {1, kSide, kSide}, kClasses), classifier_(options.dropout) {
    classifier_.initialize(options.seed);
    start(classifier_);
  }

 private:
  static Json config() { return Json::object({{"hidden", kHidden}}); }
  void save_model(const fs::path& folder) override { nn::save_model(classifier_, folder, config(), ""); }
  void load_model(const fs::path& folder) override {
    nn::load_weights(classifier_, folder, [](std::string_view name) { return std::string(name); });
  }
  Json architecture() const override { return config(); }
  Json architecture_in(const fs::path& folder) const override {
    return Json::parse_file(folder / "config.json");
  }

  Perceptron classifier_;
};

// `count` images of kSide x kSide: a bright row or column where the label says, the rest dark.
void put_digits(const fs::path& folder, uint32_t count, uint32_t first = 0) {
  std::string images = test::idx_header({count, kSide, kSide}), labels = test::idx_header({count});
  for (uint32_t i = first; i < first + count; ++i) {
    const uint32_t label = i * 7 % 10;
    for (uint32_t y = 0; y < kSide; ++y)
      for (uint32_t x = 0; x < kSide; ++x)
        images += char((label < 5 ? y == label + 1 : x == label - 4) ? 255 - i % 50 : i * (x + y) % 40);
    labels += char(label);
  }
  put_file(folder / "t10k-images-idx3-ubyte.gz", test::gzipped(images));
  put_file(folder / "t10k-labels-idx1-ubyte", labels);
}

RunOptions options_for(const fs::path& data) {
  RunOptions o;
  o.model = "perceptron";
  o.data = data.string();
  o.optimizer = "adamw:lr=3e-3";
  o.epochs = 3;
  o.batch = 16;
  o.warmup = 2;
  o.clip = 1;
  o.dropout = 0.1;
  o.augment = "shift:1";
  return o;
}

std::vector<float> weights(Run& run) {
  std::vector<float> all;
  for (const auto& p : run.model().named_parameters()) {
    const auto values = p.var->value().to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

class ImageRunTest : public ::testing::Test {
 protected:
  void SetUp() override { put_digits(dir_.path(), 200); }
  RunOptions options() const { return options_for(dir_.path()); }
  std::string fault(const std::function<void(RunOptions&)>& change, const fs::path& resume_from = {}) const {
    RunOptions o = options();
    change(o);
    try {
      PerceptronRun run(o);
      if (!resume_from.empty()) run.resume(resume_from);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  test::TempDir dir_;
};

TEST_F(ImageRunTest, EpochsGiveTheStepsAndTheAccuracyRises) {
  RunOptions o = options();
  o.epochs = 12;
  o.dropout = 0;
  o.augment = "";
  PerceptronRun run(o);
  EXPECT_EQ(run.options().steps, 12 * (180 / 16));
  EXPECT_EQ(run.items_per_step(), 16);
  const Evaluation before = run.evaluate(0);
  EXPECT_EQ(before.items, 20);
  EXPECT_EQ(before.samples_available, 20);
  ASSERT_TRUE(before.accuracy);
  EXPECT_LT(*before.accuracy, 0.5);
  StepResult last;
  while (!run.done()) last = run.step();
  ASSERT_TRUE(last.accuracy);
  EXPECT_GT(*last.accuracy, 0.9);
  EXPECT_EQ(last.items, 16);
  const Evaluation after = run.evaluate(0);
  EXPECT_GE(*after.accuracy, 0.9);
  EXPECT_LT(after.loss, before.loss / 3);
}

TEST_F(ImageRunTest, WithoutAFolderTheImagesAreSyntheticAndTheRunSaysSo) {
  RunOptions o = options();
  o.data = "";
  o.epochs = 0;
  o.steps = 150;
  o.augment = "";
  PerceptronRun run(o);
  EXPECT_EQ(run.describe().at("data").as_string(), "synthetic");
  EXPECT_EQ(run.describe().at("heldout_images").as_int(), 200);
  EXPECT_EQ(run.describe().at("steps").as_int(), 150);
  while (!run.done()) run.step();
  EXPECT_GT(*run.evaluate(0).accuracy, 0.8);
}

TEST_F(ImageRunTest, AnEvaluationOfSomeImagesIsSpreadAndCanBeCutShort) {
  put_digits(dir_.path(), 400);
  PerceptronRun run(options());
  EXPECT_EQ(run.evaluate(7).items, 7);
  EXPECT_EQ(run.evaluate(0).items, 40);
  EXPECT_EQ(run.evaluate(1000).items, 40);
  const Evaluation cut = run.evaluate(0, [](int64_t done, int64_t of) {
    EXPECT_EQ(of, 40);
    return done == 0;
  });
  EXPECT_EQ(cut.items, 16);
  const Evaluation none = run.evaluate(0, [](int64_t, int64_t) { return false; });
  EXPECT_EQ(none.items, 0);
  EXPECT_FALSE(none.accuracy);
}

TEST_F(ImageRunTest, ResumedInMidEpochItEqualsTheStraightRunBitForBit) {
  for (const char* data : {"", dir_.path().c_str()}) {
    RunOptions o = options();
    o.data = data;
    if (*data == 0) {
      o.epochs = 0;
      o.steps = 20;
    }
    PerceptronRun straight(o);
    while (!straight.done()) straight.step();
    {
      PerceptronRun first(o);
      for (int i = 0; i < 14; ++i) first.step();  // of 11 steps per epoch
      first.save(dir_ / "checkpoint");
    }
    const RunOptions saved = Run::options_of(dir_ / "checkpoint");
    EXPECT_EQ(saved.task, "images");
    EXPECT_EQ(saved.augment, "shift:1");
    PerceptronRun resumed(saved);
    EXPECT_TRUE(resumed.resume(dir_ / "checkpoint").empty());
    EXPECT_EQ(resumed.steps_done(), 14);
    while (!resumed.done()) resumed.step();
    EXPECT_EQ(weights(straight), weights(resumed));
    EXPECT_EQ(straight.evaluate(0).loss, resumed.evaluate(0).loss);
  }
}

TEST_F(ImageRunTest, TheShiftsAndTheSeedMakeAnotherRun) {
  const auto trained = [&](const std::function<void(RunOptions&)>& change) {
    RunOptions o = options();
    o.dropout = 0;
    change(o);
    PerceptronRun run(o);
    for (int i = 0; i < 3; ++i) run.step();
    return weights(run);
  };
  const auto as_it_is = trained([](RunOptions&) {});
  EXPECT_EQ(trained([](RunOptions&) {}), as_it_is);
  EXPECT_NE(trained([](RunOptions& o) { o.augment = ""; }), as_it_is);
  EXPECT_NE(trained([](RunOptions& o) { o.augment = "shift:2"; }), as_it_is);
  EXPECT_NE(trained([](RunOptions& o) { o.seed = 2; }), as_it_is);
}

TEST_F(ImageRunTest, OtherOptionsThanTheCheckpointsAreErrorsThatNameTheField) {
  const fs::path checkpoint = dir_ / "checkpoint";
  {
    PerceptronRun run(options());
    run.step();
    run.save(checkpoint);
  }
  const auto expect = [&](const std::function<void(RunOptions&)>& change, const std::string& text) {
    const std::string message = fault(change, checkpoint);
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  EXPECT_EQ(fault([](RunOptions&) {}, checkpoint), "");
  expect([](RunOptions& o) { o.augment = "shift:2"; }, "augment was \"shift:1\", this run has \"shift:2\"");
  expect([](RunOptions& o) { o.augment = ""; }, "augment was");
  expect([](RunOptions& o) { o.data = ""; }, "data_hash was");
  expect([](RunOptions& o) { o.epochs = 4; }, "steps was 33, this run has 44");
  expect([](RunOptions& o) { o.batch = 15; }, "steps was");
  expect([](RunOptions& o) { o.seed = 1; }, "seed was");
  expect([](RunOptions& o) { o.dropout = 0; }, "dropout was");
  put_digits(dir_.path(), 200, 1);
  expect([](RunOptions&) {}, "data_hash was");
}

TEST_F(ImageRunTest, ACheckpointOfATextIsAnErrorThatNamesTheTask) {
  const fs::path checkpoint = dir_ / "checkpoint";
  PerceptronRun run(options());
  run.step();
  run.save(checkpoint);
  Json state = Json::parse_file(checkpoint / "trainer_state.json");
  Json saved = state.at("run");
  saved.set("task", "text");
  state.set("run", saved);
  const auto size = fs::file_size(checkpoint / "trainer_state.json");
  std::string text = state.dump(2);
  text.resize(size, '\n');
  put_file(checkpoint / "trainer_state.json", text);
  EXPECT_ERROR(run.resume(checkpoint), "task was text, this run has images");
}

TEST_F(ImageRunTest, BadOptionsAreErrorsThatNameThem) {
  const auto expect = [&](const std::function<void(RunOptions&)>& change, const std::string& text) {
    const std::string message = fault(change);
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  expect([](RunOptions& o) { o.epochs = -1; }, "epochs -1");
  expect([](RunOptions& o) { o.batch = 0; }, "batch 0");
  expect([](RunOptions& o) { o.batch = 181; }, "batch of 181 images, but there are 180");
  expect([](RunOptions& o) { o.augment = "flip"; }, "augment flip");
  expect([](RunOptions& o) { o.data = "/nowhere"; }, "/nowhere");
  expect([](RunOptions& o) { o.optimizer = "adamw:lr=-1"; }, "learning rate -1");
  expect([](RunOptions& o) { o.warmup = 34; }, "warm-up of 34");
  expect([](RunOptions& o) { o.dropout = 1; }, "dropout 1");
}

TEST_F(ImageRunTest, ImagesThatDoNotFitTheModelAreAnErrorThatNamesBoth) {
  std::string labels = test::idx_header({20});
  labels.append(20, char(10));
  put_file(dir_ / "t10k-images-idx3-ubyte.gz", test::gzipped(test::idx_bytes({20, 8, 8})));
  put_file(dir_ / "t10k-labels-idx1-ubyte", labels);
  EXPECT_ERROR(PerceptronRun run(options()), "labels up to 10", "10 classes");
  put_file(dir_ / "t10k-images-idx3-ubyte.gz", test::gzipped(test::idx_bytes({20, 8, 9})));
  EXPECT_ERROR(PerceptronRun run(options()), "1 x 8 x 9", "takes 1 x 8 x 8");
}

}  // namespace
}  // namespace tare::train
