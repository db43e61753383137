// SPDX-License-Identifier: Apache-2.0
#include "tare/train/stop_signal.h"

#include <csignal>

namespace tare::train {
namespace {

volatile std::sig_atomic_t received = 0;
struct sigaction old_int, old_term, old_hup;

void handle(int number) {
  if (received) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  received = number;
}

}  // namespace

StopSignal::StopSignal() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &old_int);
  sigaction(SIGTERM, &action, &old_term);
  sigaction(SIGHUP, &action, &old_hup);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_int, nullptr);
  sigaction(SIGTERM, &old_term, nullptr);
  sigaction(SIGHUP, &old_hup, nullptr);
}

bool StopSignal::requested() const { return received != 0; }
int StopSignal::number() const { return int(received); }

}  // namespace tare::train
