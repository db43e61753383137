// SPDX-License-Identifier: Apache-2.0
// Printing tensors as NumPy does: nested brackets, long axes shortened to their first and last three
// elements.
#include <iomanip>
#include <ostream>

#include "tare/core/tensor.h"

namespace tare {
namespace {

constexpr int64_t kEdge = 3;  // elements shown at either end of a long axis

void print_axes(std::ostream& os, const Tensor& t, int indent) {
  if (t.dim() == 0) {
    if (t.dtype() == DType::boolean)
      os << (t.item<bool>() ? "true" : "false");
    else if (is_floating(t.dtype()))
      os << std::setprecision(t.dtype() == DType::f64 ? 10 : 5) << t.item<double>();
    else
      os << t.item<int64_t>();
    return;
  }
  const int64_t n = t.size(0);
  const bool shortened = n > 2 * kEdge + 1;
  os << "[";
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) os << (t.dim() == 1 ? ", " : ",\n" + std::string(size_t(indent) + 1, ' '));
    if (shortened && i == kEdge) {
      os << "...";
      i = n - kEdge - 1;
      continue;
    }
    print_axes(os, t.select(0, i), indent + 1);
  }
  os << "]";
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const Tensor& t) {
  if (!t.defined()) return os << "Tensor(undefined)";
  os << "Tensor(" << t.shape() << ", " << t.dtype() << ", " << t.device() << ")";
  if (t.device().is_meta()) return os;
  const auto flags = os.flags();
  const auto precision = os.precision();
  os << "\n";
  print_axes(os, t.to(kCpu), 0);
  os.flags(flags);
  os.precision(precision);
  return os;
}

}  // namespace tare
