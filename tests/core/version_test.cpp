// SPDX-License-Identifier: Apache-2.0
// The version as text agrees with the version as numbers.
#include "tare/core/version.h"

#include <cstdio>

#include <gtest/gtest.h>

namespace {

TEST(Version, LinkedLibraryMatchesTheHeaders) {
  int major = -1, minor = -1, patch = -1;
  ASSERT_EQ(std::sscanf(tare::version(), "%d.%d.%d", &major, &minor, &patch), 3);
  EXPECT_EQ(major, TARE_VERSION_MAJOR);
  EXPECT_EQ(minor, TARE_VERSION_MINOR);
  EXPECT_EQ(patch, TARE_VERSION_PATCH);
}

}  // namespace
