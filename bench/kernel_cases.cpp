// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/kernel_cases.h"

#include <iterator>

namespace tare::bench {

std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> all;
  for (auto part : {matrix_cases, row_cases, element_cases, update_cases}) {
    std::vector<KernelCase> cases = part();
    all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
  }
  return all;
}

}  // namespace tare::bench
