// SPDX-License-Identifier: Apache-2.0
#include "tare/data/default_text.h"

#include <cstdlib>
#include <system_error>

#include "tare/core/error.h"

namespace tare::data {

std::filesystem::path default_text_path() {
  namespace fs = std::filesystem;
  constexpr char kName[] = "default_text.txt";
  std::error_code fault;
  if (const char* set = std::getenv("TARE_DATA_DIR"); set && *set) {
    fs::path file = fs::path(set) / kName;
    TARE_CHECK(fs::is_regular_file(file, fault), "TARE_DATA_DIR: there is no ", file);
    return file;
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", fault);
  fs::path beside = program.parent_path().parent_path() / "share" / "tare" / kName;
  if (fs::is_regular_file(beside, fault)) return beside;
  fs::path installed = fs::path(TARE_INSTALLED_DATA_DIR) / kName;
  TARE_CHECK(fs::is_regular_file(installed, fault), "the default text is neither ", beside, " nor ",
             installed, "; name a text, or its folder in TARE_DATA_DIR");
  return installed;
}

}  // namespace tare::data
