// SPDX-License-Identifier: Apache-2.0
// Where the sources and the build stand. Only paths.cpp is compiled with them, so that checkouts in different
// folders share one compiler cache.
#pragma once

#define TARE_SOURCE_DIR (::tare::test::source_dir())
#define TARE_BINARY_DIR (::tare::test::binary_dir())

namespace tare::test {

const char* source_dir();
const char* binary_dir();

}  // namespace tare::test
