// SPDX-License-Identifier: Apache-2.0
// IDX files, plain and packed: what is read is what was written, and anything else is refused.
#include "tare/data/idx.h"

#include <span>

#include <gtest/gtest.h>

#include "tare/core/error.h"
#include "tare/data/byte_reader.h"

#include "tests/support/expect_error.h"
#include "tests/support/idx_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"

namespace tare::data {
namespace {

using namespace tare::test;

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Idx, AnArrayIsReadPlainOrPacked) {
  const std::string good = idx_bytes({3, 4, 5});
  for (const std::string& bytes : {good, gzipped(good)}) {
    const Tensor array = parse_idx(as_bytes(bytes), "here");
    EXPECT_EQ(array.shape(), (Shape{3, 4, 5}));
    EXPECT_EQ(array.dtype(), DType::u8);
    const auto values = array.to_vector<int>();
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], int(i * 7 + 3) % 256);
  }
}

TEST(Idx, EveryNumberOfDimensionsIsRead) {
  std::vector<uint32_t> extents;
  for (int dims = 1; dims <= kMaxDims; ++dims) {
    extents.push_back(2);
    EXPECT_EQ(parse_idx(as_bytes(idx_bytes(extents)), "here").dim(), dims);
  }
}

TEST(Idx, ThePackingIsSeenInTheBytesNotInTheName) {
  const TempDir dir;
  put_file(dir / "packed", gzipped(idx_bytes({7})));
  put_file(dir / "plain.gz", idx_bytes({7}));
  EXPECT_EQ(read_idx(dir / "packed").to_vector<int>(), read_idx(dir / "plain.gz").to_vector<int>());
}

TEST(Idx, SeveralMembersOfAGzipFileAreJoined) {
  const std::string good = idx_bytes({100});
  const std::string bytes = gzipped(good.substr(0, 6)) + gzipped("") + gzipped(good.substr(6));
  EXPECT_EQ(parse_idx(as_bytes(bytes), "here").to_vector<int>(),
            parse_idx(as_bytes(good), "here").to_vector<int>());
}

TEST(Idx, WhatIsMalformedIsAnErrorThatNamesFileAndFault) {
  const TempDir dir;
  for (const MalformedIdx& file : malformed_idx()) {
    SCOPED_TRACE(file.name);
    put_file(dir / "array-idx", file.bytes);
    std::vector<std::string> parts = file.message;
    parts.push_back((dir / "array-idx").string());
    expect_error([&] { read_idx(dir / "array-idx"); }, parts, __FILE__, __LINE__);
  }
  EXPECT_ERROR(read_idx(dir / "nowhere"), "nowhere");
}

TEST(Idx, EveryShorterFileIsRefused) {
  for (const std::string& whole : {idx_bytes({4, 3}), gzipped(idx_bytes({4, 3}))})
    for (size_t n = 0; n < whole.size(); ++n)
      EXPECT_THROW(parse_idx(as_bytes(whole.substr(0, n)), "here"), Error) << n << " of " << whole.size();
}

TEST(ByteReader, PiecesOfAnySizeMakeUpTheWhole) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += char(i * i % 251);
  for (const std::string& bytes : {text, gzipped(text)})
    for (const size_t piece : {1, 7, 4096, 5000, 9999}) {
      ByteReader reader(as_bytes(bytes), "here");
      std::string read;
      std::vector<uint8_t> out(piece);
      for (size_t got; (got = reader.read(out.data(), piece)) > 0;)
        read.append(out.begin(), out.begin() + ptrdiff_t(got));
      EXPECT_EQ(read, text);
      EXPECT_EQ(reader.read(out.data(), piece), 0u);
    }
}

TEST(Idx, TheDigitsAreReadWhole) {
  const auto images = test_data("mnist/t10k-images-idx3-ubyte.gz");
  const auto labels = test_data("mnist/t10k-labels-idx1-ubyte.gz");
  if (!images || !labels) GTEST_SKIP() << "no mnist/t10k-*.gz below TARE_TEST_DATA";
  const Tensor pixels = read_idx(*images);
  EXPECT_EQ(pixels.shape(), (Shape{10000, 28, 28}));
  const auto digits = read_idx(*labels).to_vector<int>();
  ASSERT_EQ(digits.size(), 10000u);
  EXPECT_EQ(std::vector<int>(digits.begin(), digits.begin() + 5), (std::vector<int>{7, 2, 1, 0, 4}));
}

}  // namespace
}  // namespace tare::data
