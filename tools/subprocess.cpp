// SPDX-License-Identifier: Apache-2.0
#include "tare/tools/subprocess.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tare/core/error.h"

extern char** environ;

namespace tare::tools {

void run_self(const std::vector<std::string>& arguments) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> words{self};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  pid_t child = 0;
  const int fault = posix_spawn(&child, self.c_str(), nullptr, nullptr, argv.data(), environ);
  TARE_CHECK(fault == 0, "cannot start ", self, ": ", std::strerror(fault));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    TARE_CHECK(errno == EINTR, "waiting for a child process: ", std::strerror(errno));
  if (WIFSIGNALED(status)) TARE_THROW("a child process was ended by signal ", WTERMSIG(status));
  TARE_CHECK(WEXITSTATUS(status) == 0, "a child process ended with status ", WEXITSTATUS(status));
}

TemporaryFile::TemporaryFile() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tare-XXXXXX").string();
  const int fd = mkstemp(pattern.data());
  TARE_CHECK(fd >= 0, "cannot make a temporary file ", pattern, ": ", std::strerror(errno));
  close(fd);
  path_ = pattern;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;  // a file that is gone already is as good
  std::filesystem::remove(path_, ignored);
}

}  // namespace tare::tools
