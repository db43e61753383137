// SPDX-License-Identifier: Apache-2.0
#include "tare/core/error.h"

namespace tare::detail {

void throw_error(const std::string& message) { throw Error(message); }

void throw_internal(const char* what, const char* file, int line) {
  throw std::logic_error(concat("internal error: ", what, " at ", file, ":", line));
}

}  // namespace tare::detail
