// SPDX-License-Identifier: Apache-2.0
#include "tare/train/progress.h"

#include <cstdio>

#include <unistd.h>

namespace tare::train {

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)), total_(total), terminal_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}

Progress::~Progress() { finish(); }

void Progress::erase_line() {
  if (line_open_) std::fputs("\r\033[K", stderr);
  line_open_ = false;
}

void Progress::show(int64_t done, const std::string& details) {
  const auto now = Clock::now();
  if (first_ < 0) {
    first_ = done > 0 ? done - 1 : 0;
    begin_ = now;
  }
  const double since_shown = std::chrono::duration<double>(now - shown_).count();
  if (shown_ != Clock::time_point{} && done < total_ && since_shown < (terminal_ ? 0.1 : 10.0)) return;
  shown_ = now;
  std::string left;
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  if (done - first_ > 1 && done < total_)
    left = ", " + format_duration(elapsed / double(done - first_ - 1) * double(total_ - done)) + " left";
  erase_line();
  const std::string line = what_ + " " + std::to_string(done) + "/" + std::to_string(total_) +
                           (details.empty() ? "" : "  ") + details + left;
  std::fputs((line + (terminal_ ? "" : "\n")).c_str(), stderr);
  std::fflush(stderr);
  line_open_ = terminal_;
}

void Progress::print(const std::string& line) {
  erase_line();
  std::fputs((line + "\n").c_str(), stderr);
  std::fflush(stderr);
}

void Progress::finish() {
  if (line_open_) std::fputs("\n", stderr);
  line_open_ = false;
}

std::string format_duration(double seconds) {
  char text[64];
  const long whole = long(seconds + 0.5);
  if (whole < 60)
    std::snprintf(text, sizeof text, "%ld s", whole);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%ld m %02ld s", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld h %02ld m", whole / 3600, whole / 60 % 60);
  return text;
}

std::string format_bytes(int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = -1;
  while (value >= 1024 && unit < 3) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
  return text;
}

}  // namespace tare::train
