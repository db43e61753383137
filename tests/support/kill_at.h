// SPDX-License-Identifier: Apache-2.0
// Runs a function in a child process and kills it (SIGKILL) at the n-th of its system calls, so that a test
// can cut an operation at any of its outer effects.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tare::test {

struct TracedRun {
  int64_t stops = 0;    // entries into and returns from system calls that were passed
  bool killed = false;  // false: the function ended before the n-th stop
  int exit_code = 0;    // of the child that was not killed: 0, or 1 when the function threw
};

/// Nothing when this system does not let a process trace its child.
inline std::optional<TracedRun> run_and_kill_at(int64_t stop, const std::function<void()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(99);
    raise(SIGSTOP);  // the parent begins to count here
    int code = 0;
    try {
      f();
    } catch (...) {
      code = 1;
    }
    _exit(code);
  }
  TracedRun run;
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  long signal = 0;
  for (;;) {
    if (run.stops == stop) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      run.killed = true;
      return run;
    }
    ptrace(PTRACE_SYSCALL, child, nullptr, signal);
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) break;
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);  // any other signal is the child's own
    if (signal == 0) ++run.stops;
  }
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

}  // namespace tare::test
