// SPDX-License-Identifier: Apache-2.0
#include "tests/support/paths.h"

namespace tare::test {

const char* source_dir() { return TARE_TEST_SOURCE_DIR; }
const char* binary_dir() { return TARE_TEST_BINARY_DIR; }

}  // namespace tare::test
