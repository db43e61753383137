// SPDX-License-Identifier: Apache-2.0
// What `tare train` does once its options are read: steps, evaluations, saves, logs, and the summary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tare/train/run.h"

namespace tare::tools {

struct LoopOptions {
  train::RunOptions run;
  std::filesystem::path architecture_from;   // a checkpoint whose architecture the model has; "" for none
  int64_t eval_every = 0, eval_samples = 0;  // 0: at the end alone; 0: all
  int64_t save_every = 0;                    // 0: at the end alone
  std::string save, resume, log, json;       // "" for none
};

// The exit status: 128 + signal when the run was interrupted. Error on what stops it.
int run_training(const LoopOptions& options);

}  // namespace tare::tools
