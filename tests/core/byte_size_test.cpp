// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes as text.
#include "tare/core/byte_size.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tare/core/error.h"

namespace tare {
namespace {

std::string error_of(const std::string& text) {
  try {
    const int64_t bytes = parse_byte_size(text);
    return "no error, but " + std::to_string(bytes);
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ByteSize, UnitsArePowersOf1000OrOf1024) {
  EXPECT_EQ(parse_byte_size("4096"), 4096);
  EXPECT_EQ(parse_byte_size("0"), 0);
  EXPECT_EQ(parse_byte_size("17B"), 17);
  EXPECT_EQ(parse_byte_size("3kB"), 3000);
  EXPECT_EQ(parse_byte_size("3KiB"), 3072);
  EXPECT_EQ(parse_byte_size("500MB"), 500'000'000);
  EXPECT_EQ(parse_byte_size("500MiB"), 500ll << 20);
  EXPECT_EQ(parse_byte_size("8GB"), 8'000'000'000);
  EXPECT_EQ(parse_byte_size("8GiB"), 8ll << 30);
  EXPECT_EQ(parse_byte_size("2TB"), 2'000'000'000'000);
  EXPECT_EQ(parse_byte_size("2TiB"), 2ll << 40);
}

TEST(ByteSize, LettersOfEitherCaseAndOneSpaceAreTaken) {
  EXPECT_EQ(parse_byte_size("8gib"), 8ll << 30);
  EXPECT_EQ(parse_byte_size("8 GiB"), 8ll << 30);
  EXPECT_NE(error_of("8  GiB").find("such as 8GiB"), std::string::npos);
}

TEST(ByteSize, FractionsAreExactAndAPartOfAByteIsDropped) {
  EXPECT_EQ(parse_byte_size("1.5GiB"), 3ll << 29);
  EXPECT_EQ(parse_byte_size("0.1GB"), 100'000'000);
  EXPECT_EQ(parse_byte_size("2.3KiB"), 2355);  // of 2355.2
  EXPECT_EQ(parse_byte_size("0.123456789012345678TB"), 123'456'789'012);
}

TEST(ByteSize, TheGreatestThatFitsIsTakenAndNoMore) {
  EXPECT_EQ(parse_byte_size("8388607.999999999999TiB"), std::numeric_limits<int64_t>::max() - 1);
  EXPECT_NE(error_of("8388608TiB").find("64 bits"), std::string::npos);
  EXPECT_NE(error_of("9999999999999999999").find("too many digits"), std::string::npos);
}

TEST(ByteSize, ErrorsQuoteTheTextAndSayWhatToWrite) {
  EXPECT_NE(error_of("8G").find("write GiB (powers of 1,024) or GB"), std::string::npos) << error_of("8G");
  for (const char* text : {"", "GiB", "-8GiB", "+8GiB", "8.GiB", ".5GiB", "8GiBs", "8e9", "8,5GiB", "8GiB "})
    EXPECT_NE(error_of(text).find("size \"" + std::string(text) + "\": "), std::string::npos)
        << error_of(text);
}

}  // namespace
}  // namespace tare
