// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and a closed terminal (SIGHUP) ask a run to stop after the current step; a second one ends
// the process at once.
#pragma once

namespace tare::train {

class StopSignal {
 public:
  StopSignal();   // installs the handlers
  ~StopSignal();  // restores what was there
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  int number() const;  // of the signal, 0 when none came
};

}  // namespace tare::train
