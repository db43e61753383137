// SPDX-License-Identifier: Apache-2.0
// This program again, in a process of its own: a measurement must not inherit another's memory and caches.
#pragma once

#include <string>
#include <vector>

namespace tare::tools {

// Runs this executable with the arguments and waits; stdout and stderr are shared. Ctrl-C reaches both. Error
// when it cannot be started, or ends with another status than 0.
void run_self(const std::vector<std::string>& arguments);

// A path that does not exist yet, in the folder for temporary files; removed when the object dies.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tare::tools
