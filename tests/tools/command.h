// SPDX-License-Identifier: Apache-2.0
// The `tare` command as a child process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tare/core/json.h"

namespace tare::test {

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Lines of a --log that have such a field.
inline int lines_with(const std::filesystem::path& log, std::string_view field) {
  std::ifstream in(log);
  int lines = 0;
  for (std::string line; std::getline(in, line);) lines += Json::parse(line).find(field) != nullptr;
  return lines;
}

// A run of the command in the background, its output in files.
class Command {
 public:
  Command(const std::filesystem::path& dir, std::vector<std::string> arguments, int64_t file_limit = 0)
      : dir_(dir) {
    arguments.insert(arguments.begin(), std::string(TARE_BINARY_DIR) + "/bin/tare");
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    child_ = fork();
    if (child_ != 0) return;
    if (!freopen((dir_ / "stdout").c_str(), "w", stdout) || !freopen((dir_ / "stderr").c_str(), "w", stderr))
      _exit(99);
    if (file_limit > 0) {
      const rlimit limit{rlim_t(file_limit), rlim_t(file_limit)};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(argv[0], argv.data());
    _exit(98);
  }

  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void signal(int number) const { kill(child_, number); }
  std::string out() const { return content_of(dir_ / "stdout"); }
  std::string err() const { return content_of(dir_ / "stderr"); }

 private:
  std::filesystem::path dir_;
  pid_t child_ = 0;
};

}  // namespace tare::test
