// SPDX-License-Identifier: Apache-2.0
// The fuzzed readers stand their seeds and many small changes of them, the same in every run.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/fuzz/readers.h"
#include "tests/support/test_data.h"

namespace tare::test {
namespace {

// One to four edits: a byte changed, removed, inserted or repeated, a digit or a bracket put in, the end cut
// off.
std::string changed(std::string bytes, std::mt19937_64& random) {
  static constexpr char kTelling[] = "0123456789{}[]\",:-eE.\\u\x7f\x80\xff";
  const auto below = [&](size_t n) { return size_t(random() % n); };
  for (size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
    const size_t at = below(bytes.size());
    const char telling = kTelling[below(sizeof kTelling - 1)];
    switch (below(6)) {
      case 0:
        bytes[at] = char(random());
        break;
      case 1:
        bytes[at] = telling;
        break;
      case 2:
        bytes.erase(at, 1);
        break;
      case 3:
        bytes.insert(at, 1, telling);
        break;
      case 4:
        bytes.insert(at, bytes.substr(at, 1 + below(16)));
        break;
      case 5:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

void expect_stands(const FuzzedReader& reader) {
  std::mt19937_64 random(1);
  const int changes = all_cases() ? 5000 : 500;
  for (const std::string& seed : reader.seeds) {
    ASSERT_NO_THROW(reader.run(seed)) << reader.name << ": " << seed;
    for (int i = 0; i < changes; ++i) {
      const std::string input = changed(seed, random);
      ASSERT_NO_THROW(reader.run(input)) << reader.name << ": " << ::testing::PrintToString(input);
    }
  }
}

TEST(FuzzSeeds, the_reader_of_json_stands_them) { expect_stands(fuzzed_json()); }

TEST(FuzzSeeds, the_reader_of_safetensors_stands_them) { expect_stands(fuzzed_safetensors()); }

TEST(FuzzSeeds, the_reader_of_idx_stands_them) { expect_stands(fuzzed_idx()); }

}  // namespace
}  // namespace tare::test
