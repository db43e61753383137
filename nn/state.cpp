// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/state.h"

#include <sstream>

namespace tare::nn {
namespace {

constexpr size_t kMostNames = 8;  // of one kind in an error message

void list(std::ostream& os, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  if (os.tellp() > 0) os << "\n";
  os << names.size() << " " << what << ": ";
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) os << (i ? ", " : "") << names[i];
  if (names.size() > kMostNames) os << ", ...";
}

}  // namespace

std::string LoadReport::str() const {
  std::ostringstream os;
  list(os, "missing", missing);
  list(os, "unexpected", unexpected);
  list(os, "of another shape", mismatched);
  return os.str();
}

}  // namespace tare::nn
