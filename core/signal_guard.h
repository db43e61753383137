// SPDX-License-Identifier: Apache-2.0
// Signals wait while code runs on whose stack no handler may run: oneDNN's generated f32 products (before
// 3.11.2) keep their stack pointer in the heap, where the frame of a handler overwrites malloc's own data.
#pragma once

#include <csignal>

namespace tare {

// Blocks every signal that arrives from outside in the calling thread while it lives; what arrives meanwhile
// is delivered at its end, or to a thread that does not block it. Faults (SIGSEGV and its like) are not held.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  sigset_t before_;
  bool blocked_;
};

// The same for the rest of the calling thread's life: the threads of parallel_for leave signals to the
// others.
void block_signals_in_this_thread();

}  // namespace tare
