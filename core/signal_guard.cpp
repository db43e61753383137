// SPDX-License-Identifier: Apache-2.0
#include "tare/core/signal_guard.h"

#include <initializer_list>

namespace tare {
namespace {

thread_local bool always_blocked = false;

sigset_t from_outside() {
  sigset_t set;
  sigfillset(&set);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&set, fault);
  return set;
}

}  // namespace

SignalGuard::SignalGuard() : blocked_(!always_blocked) {
  if (!blocked_) return;
  const sigset_t set = from_outside();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalGuard::~SignalGuard() {
  if (blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void block_signals_in_this_thread() {
  if (always_blocked) return;
  const sigset_t set = from_outside();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  always_blocked = true;
}

}  // namespace tare
