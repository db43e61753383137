// SPDX-License-Identifier: Apache-2.0
// tare bench: measurements, one sub-command each.
#include "tare/tools/bench_commands.h"

namespace tare::tools {

void add_bench(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure optimizers, kernels or a training step, and compare measurements");
  bench->require_subcommand(1);
  add_bench_compare(*bench);
  add_bench_kernels(*bench);
  add_bench_optimizers(*bench);
  add_bench_page(*bench);
  add_bench_step(*bench);
  add_bench_update(*bench);
}

}  // namespace tare::tools
