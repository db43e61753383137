// SPDX-License-Identifier: Apache-2.0
// Where tests find data that is not part of the source tree, and whether to run every case.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tare::test {

/// The path of a data file below $TARE_TEST_DATA (default: ../shared/data beside the source root); nothing
/// when it is not there: the test then says GTEST_SKIP() with the file's name.
inline std::optional<std::filesystem::path> test_data(std::string_view name) {
  const char* folder = std::getenv("TARE_TEST_DATA");
  const std::filesystem::path base = folder
                                         ? std::filesystem::path(folder)
                                         : std::filesystem::path(TARE_SOURCE_DIR) / ".." / "shared" / "data";
  std::filesystem::path path = base / name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

/// True under `./dev test --all`, where tests run every seed and size rather than the part that is quick.
inline bool all_cases() { return std::getenv("TARE_TEST_ALL") != nullptr; }

}  // namespace tare::test
