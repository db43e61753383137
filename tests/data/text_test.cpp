// SPDX-License-Identifier: Apache-2.0
// Texts, their windows and the loader.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tare/core/error.h"
#include "tare/core/ledger.h"
#include "tare/data/byte_tokenizer.h"
#include "tare/data/default_text.h"
#include "tare/data/text_loader.h"

namespace tare::data {
namespace {

namespace fs = std::filesystem;

class TextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / ("tare_text_" + std::to_string(getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path write(const std::string& name, const std::string& content) {
    fs::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name, std::ios::binary) << content;
    return dir_ / name;
  }
  // Byte i has the value i % 251, so that a window tells where it was cut.
  fs::path counting(int64_t bytes) {
    std::string text;
    for (int64_t i = 0; i < bytes; ++i) text.push_back(char(i % 251));
    return write("counting", text);
  }
  fs::path dir_;
};

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Permuted, IsABijectionThatDependsOnTheKey) {
  for (const int64_t n : {1, 2, 3, 5, 16, 17, 1000}) {
    std::set<int64_t> seen;
    int64_t moved = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = permuted(i, n, 42);
      ASSERT_GE(at, 0);
      ASSERT_LT(at, n);
      seen.insert(at);
      moved += at != permuted(i, n, 43);
    }
    EXPECT_EQ(int64_t(seen.size()), n);
    if (n >= 16) {
      EXPECT_GT(moved, n / 2);
    }
  }
}

TEST(WindowSampler, AnEpochCoversItsSpanWithoutOverlap) {
  for (const int64_t seq : {1, 7, 64}) {
    const Span span{100, 100 + 1000};
    const WindowSampler sampler(span, seq, 5);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<int64_t> starts;
      for (int64_t i = 0; i < sampler.windows_per_epoch(); ++i) {
        const int64_t s = sampler.start(epoch, i);
        EXPECT_GE(s, span.begin);
        EXPECT_LE(s + seq + 1, span.end);
        starts.insert(s);
      }
      EXPECT_EQ(int64_t(starts.size()), sampler.windows_per_epoch());
      EXPECT_EQ((*starts.rbegin() - *starts.begin()), (sampler.windows_per_epoch() - 1) * seq);
      EXPECT_GE(sampler.windows_per_epoch() * seq, span.size() - 2 * seq);
    }
  }
}

TEST(WindowSampler, EpochsSeedsAndCutsDiffer) {
  const WindowSampler a({0, 100000}, 64, 1), b({0, 100000}, 64, 2);
  int same_epoch = 0, same_seed = 0;
  std::set<int64_t> cuts;
  for (int64_t i = 0; i < 100; ++i) {
    same_epoch += a.start(0, i) == a.start(1, i);
    same_seed += a.start(0, i) == b.start(0, i);
    cuts.insert(a.start(i, 0) % 64);
  }
  EXPECT_LT(same_epoch, 5);
  EXPECT_LT(same_seed, 5);
  EXPECT_GT(cuts.size(), 30u);
}

TEST(WindowSampler, ASpanOfOneWindowWorksAndAShorterOneIsAnError) {
  const WindowSampler one({0, 9}, 8, 1);
  EXPECT_EQ(one.windows_per_epoch(), 1);
  EXPECT_EQ(one.start(0, 0), 0);
  const std::string message = message_of([] { WindowSampler({0, 8}, 8, 1); });
  EXPECT_NE(message.find("sequences of 8 tokens need 9 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("has 8"), std::string::npos) << message;
}

TEST(EvaluationWindows, CoverEveryTargetOnce) {
  for (const int64_t size : {2, 9, 64, 65, 66, 1000}) {
    const EvaluationWindows windows({0, size}, 64);
    int64_t targets = 0;
    for (int64_t i = 0; i < windows.count; ++i) targets += std::min<int64_t>(64, size - 1 - i * 64);
    EXPECT_EQ(targets, size - 1);
  }
}

TEST_F(TextTest, FilesOfAFolderAreJoinedInOrder) {
  write("folder/b.txt", "0123456789");
  write("folder/a.txt", "abcdefghij");
  write("folder/.hidden", "xxxxxxxxxx");
  write("folder/sub/c.txt", "ABCDEFGHIJ");
  const TextDataset text(dir_ / "folder");
  EXPECT_EQ(text.size(), 30);
  EXPECT_EQ(text.files(), 3u);
  std::string all(30, ' ');
  text.read(0, 30, reinterpret_cast<uint8_t*>(all.data()));
  EXPECT_EQ(all, "abcdefghij0123456789ABCDEFGHIJ");
  std::string across(12, ' ');
  text.read(9, 12, reinterpret_cast<uint8_t*>(across.data()));
  EXPECT_EQ(across, "j0123456789A");
  EXPECT_EQ(text.train().size(), 27);
  EXPECT_EQ(text.heldout().size(), 3);
  EXPECT_THROW(text.read(29, 2, reinterpret_cast<uint8_t*>(across.data())), Error);
}

TEST_F(TextTest, WhatIsMissingOrEmptyIsNamed) {
  EXPECT_NE(message_of([&] { TextDataset(dir_ / "nowhere"); }).find("nowhere"), std::string::npos);
  const auto empty = write("empty.txt", "");
  EXPECT_NE(message_of([&] { TextDataset{empty}; }).find("empty"), std::string::npos);
  fs::create_directories(dir_ / "bare");
  EXPECT_NE(message_of([&] { TextDataset(dir_ / "bare"); }).find("no files"), std::string::npos);
  const auto tiny = write("tiny.txt", "abc");
  EXPECT_NE(message_of([&] { TextDataset{tiny}; }).find("3 bytes"), std::string::npos);
}

TEST_F(TextTest, TheHashChangesWithOneByte) {
  const TextDataset a(write("a", std::string(100000, 'x')));
  std::string other(100000, 'x');
  other[77777] = 'y';
  const TextDataset b(write("b", other));
  EXPECT_TRUE(a.hash().starts_with("fnv1a64:")) << a.hash();
  EXPECT_NE(a.hash(), b.hash());
  EXPECT_EQ(a.hash(), TextDataset(dir_ / "a").hash());
}

TEST_F(TextTest, AFileLargerThanMemoryIsReadInPlace) {
  const auto path = write("sparse", "start of a very large file");
  fs::resize_file(path, int64_t(40) << 30);
  const TextDataset text(path);
  EXPECT_EQ(text.size(), int64_t(40) << 30);
  EXPECT_EQ(text.train().end, (int64_t(40) << 30) - (int64_t(4) << 30));
  EXPECT_TRUE(text.hash().starts_with("fnv1a64-sampled:"));
  TextLoader loader(text, 4, 256, 1);
  for (int i = 0; i < 20; ++i) {
    const TextBatch& batch = loader.next();
    EXPECT_EQ(batch.tokens, 4 * 256);
  }
}

TEST_F(TextTest, TargetsAreTheNextBytes) {
  const TextDataset text(counting(5000));
  TextLoader loader(text, 3, 17, 9);
  const WindowSampler sampler(text.train(), 17, 9);
  for (int64_t step = 0; step < 200; ++step) {  // crosses epochs
    const TextBatch& batch = loader.next();
    const auto ids = batch.ids.to_vector<int64_t>(), targets = batch.targets.to_vector<int64_t>();
    EXPECT_EQ(batch.first_window, step * 3);
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t t = 0; t < 17; ++t) {
        const int64_t at = sampler.start(step * 3 + b) + t;
        ASSERT_EQ(ids[size_t(b * 17 + t)], at % 251);
        ASSERT_EQ(targets[size_t(b * 17 + t)], (at + 1) % 251);
      }
  }
}

TEST_F(TextTest, ALoaderGoesOnWhereAnotherStopped) {
  const TextDataset text(counting(5000));
  TextLoader straight(text, 4, 32, 3);
  for (int i = 0; i < 57; ++i) straight.next();
  TextLoader resumed(text, 4, 32, 3, straight.drawn());
  for (int i = 0; i < 60; ++i)
    EXPECT_EQ(straight.next().ids.to_vector<int64_t>(), resumed.next().ids.to_vector<int64_t>());
}

TEST_F(TextTest, BuffersAreAFixedPoolChargedToData) {
  const int64_t before = ledger(kCpu).current()[size_t(Category::data)];
  const TextDataset text(counting(5000));
  {
    TextLoader loader(text, 4, 32, 3);
    for (int i = 0; i < 20; ++i) {
      loader.next();
      EXPECT_EQ(ledger(kCpu).current()[size_t(Category::data)] - before,
                TextLoader::kBuffers * 2 * 4 * 32 * 8);
    }
  }
  EXPECT_EQ(ledger(kCpu).current()[size_t(Category::data)], before);
}

TEST_F(TextTest, ABatchStaysAsLongAsAViewOfItIsHeld) {
  const TextDataset text(counting(5000));
  Tensor last_row;
  {
    TextLoader loader(text, 2, 8, 3);
    TextBatch held = loader.next();
    const auto ids = held.ids.to_vector<int64_t>(), targets = held.targets.to_vector<int64_t>();
    last_row = held.targets.select(0, 1);
    for (int i = 0; i < 50; ++i) {
      loader.next();
      EXPECT_EQ(held.ids.to_vector<int64_t>(), ids);
    }
    held = loader.next();
    for (int i = 0; i < 50; ++i) loader.next();
    EXPECT_EQ(last_row.to_vector<int64_t>(), std::vector<int64_t>(targets.begin() + 8, targets.end()));
  }
  EXPECT_EQ(last_row.to_vector<int64_t>()[1], last_row.to_vector<int64_t>()[0] + 1)
      << "freed with the loader";
}

TEST_F(TextTest, HoldingEveryBufferIsAnErrorThatEndsWhenOneIsLetGo) {
  const TextDataset text(counting(5000));
  TextLoader loader(text, 2, 8, 3);
  std::vector<TextBatch> held;
  for (size_t i = 0; i < TextLoader::kBuffers; ++i) held.push_back(loader.next());
  EXPECT_NE(message_of([&] { loader.next(); }).find("all 4 buffers"), std::string::npos);
  const int64_t next = held.back().first_window + 2;
  held.pop_back();
  EXPECT_EQ(loader.next().first_window, next) << "the failed call took a batch";
}

TEST_F(TextTest, ShortEvaluationWindowsArePadded) {
  const TextDataset text(counting(1000));  // held out: 100 bytes, 99 targets
  const EvaluationWindows windows(text.heldout(), 64);
  ASSERT_EQ(windows.count, 2);
  const TextBatch batch = evaluation_batch(text, windows, {0, 1});
  EXPECT_EQ(batch.tokens, 99);
  const auto targets = batch.targets.to_vector<int64_t>();
  EXPECT_EQ(targets[64 + 34], (900 + 99) % 251);
  for (size_t t = 64 + 35; t < 128; ++t) EXPECT_EQ(targets[t], -100);
  EXPECT_THROW(evaluation_batch(text, windows, {2}), Error);
}

TEST_F(TextTest, TheTrainingOrderOfASeedIsFixedForGood) {
  // Checkpoints of earlier versions go on with this order. The numbers are those of a second program.
  const WindowSampler sampler({0, 1000000}, 128, 1337);
  std::vector<int64_t> starts;
  for (int64_t drawn : {0, 1, 2, 7810, 7811, 1000000}) starts.push_back(sampler.start(drawn));
  EXPECT_EQ(sampler.windows_per_epoch(), 7811);
  EXPECT_EQ(starts, (std::vector<int64_t>{579409, 159825, 47185, 480593, 619127, 224970}));
}

TEST_F(TextTest, TheDefaultTextIsFoundWhereTheEnvironmentSays) {
  ASSERT_EQ(setenv("TARE_DATA_DIR", dir_.c_str(), 1), 0);
  const std::string missing = message_of([] { default_text_path(); });
  EXPECT_NE(missing.find("TARE_DATA_DIR"), std::string::npos) << missing;
  const auto path = write("default_text.txt", "some text that is long enough");
  EXPECT_EQ(default_text_path(), path);
  ASSERT_EQ(unsetenv("TARE_DATA_DIR"), 0);
}

TEST(ByteTokenizer, RoundTripsEveryByteAndNamesABadId) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(char(i));
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(all)), all);
  EXPECT_NE(message_of([&] { tokenizer.decode({1, 256}); }).find("token 1 is 256"), std::string::npos);
}

}  // namespace
}  // namespace tare::data
