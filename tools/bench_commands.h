// SPDX-License-Identifier: Apache-2.0
// The sub-commands of `tare bench`.
#pragma once

#include "tare/tools/commands.h"

namespace tare::tools {

void add_bench_compare(CLI::App& bench);
void add_bench_kernels(CLI::App& bench);
void add_bench_optimizers(CLI::App& bench);
void add_bench_page(CLI::App& bench);
void add_bench_step(CLI::App& bench);
void add_bench_update(CLI::App& bench);

}  // namespace tare::tools
