// SPDX-License-Identifier: Apache-2.0
#include "tare/data/default_text.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "tare/core/error.h"

namespace tare::data {

std::filesystem::path default_text_path() {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* set = std::getenv("TARE_DATA_DIR"); set && *set) folders.push_back(set);
  std::error_code fault;
  const fs::path self = fs::read_symlink("/proc/self/exe", fault);
  if (!fault) folders.push_back(self.parent_path().parent_path() / "share" / "tare");
  folders.push_back(TARE_INSTALLED_DATA_DIR);
  std::string tried;
  for (const fs::path& folder : folders) {
    const fs::path file = folder / "default_text.txt";
    if (fs::is_regular_file(file, fault)) return file;
    tried += "\n  " + file.string();
  }
  TARE_THROW("no default text; name one with --text. Looked for:", tried);
}

}  // namespace tare::data
