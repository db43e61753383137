// SPDX-License-Identifier: Apache-2.0
// Tells the version that the library was built as.
#include "tare/core/version.h"

#define TARE_TEXT_OF(x) #x
#define TARE_TEXT(x) TARE_TEXT_OF(x)

namespace tare {

const char* version() {
  return TARE_TEXT(TARE_VERSION_MAJOR) "." TARE_TEXT(TARE_VERSION_MINOR) "." TARE_TEXT(TARE_VERSION_PATCH);
}

}  // namespace tare
