// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/join.h"

namespace tare::kernels::cpu {

void cat_forward(const std::vector<Tensor>& xs, int axis, Tensor& y) {
  int64_t begin = 0;
  for (const Tensor& x : xs) {
    const int64_t end = begin + x.shape()[axis];
    Tensor part = y.slice(axis, begin, end);
    copy(x, part);
    begin = end;
  }
}

}  // namespace tare::kernels::cpu
