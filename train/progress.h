// SPDX-License-Identifier: Apache-2.0
// A progress line for long work: rewritten in place on a terminal, plain lines now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tare::train {

class Progress {
 public:
  // Writes to stderr, so that stdout stays for results. `what` begins each line.
  Progress(std::string what, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total`, with whatever else is worth telling. Cheap to call often: shown at most ten times a
  // second on a terminal, every ten seconds and at the end elsewhere.
  void show(int64_t done, const std::string& details);
  // A line of its own that stays (an evaluation, a save).
  void print(const std::string& line);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void erase_line();

  std::string what_;
  int64_t total_;
  int64_t first_ = -1;  // `done` when first shown: a resumed run does not start at 0
  bool terminal_;
  bool line_open_ = false;
  Clock::time_point begin_, shown_;
};

std::string format_duration(double seconds);  // "5 s", "2 m 05 s", "1 h 02 m"
std::string format_bytes(int64_t bytes);      // "512 B", "3.4 MiB"

}  // namespace tare::train
