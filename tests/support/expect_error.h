// SPDX-License-Identifier: Apache-2.0
// EXPECT_ERROR(statement, "part", ...): the statement throws tare::Error and its message, on one line, holds
// every part.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/error.h"

namespace tare::test {

template <class F>
void expect_error(F&& f, const std::vector<std::string>& parts, const char* file, int line) {
  try {
    f();
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const std::string& part : parts)
      if (message.find(part) == message.npos)
        ADD_FAILURE_AT(file, line) << "the message lacks \"" << part << "\": " << message;
    if (message.find('\n') != message.npos) ADD_FAILURE_AT(file, line) << "more than one line: " << message;
    return;
  }
  ADD_FAILURE_AT(file, line) << "no Error was thrown";
}

}  // namespace tare::test

#define EXPECT_ERROR(statement, ...) \
  ::tare::test::expect_error([&] { statement; }, {__VA_ARGS__}, __FILE__, __LINE__)
