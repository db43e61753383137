// SPDX-License-Identifier: Apache-2.0
// Errors: one exception type whose message names the operation and what was wrong with which argument.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tare {

// Any error a caller can cause or must handle: bad arguments, bad files, a full disk.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device has no memory left, also after the cache was freed. The message carries the numbers.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// Text from outside (names in files, file names) as an error shows it: in quotes, on one line; control bytes,
// quotes and bytes that are not ASCII as \xNN, shortened in the middle beyond 120 characters.
std::string in_quotes(std::string_view text);
// What the system says about an errno: "No space left on device".
std::string system_reason(int error);

namespace detail {

template <class... P> std::string concat(const P&... parts) {
  std::ostringstream os;
  os << std::boolalpha;
  (os << ... << parts);
  return os.str();
}

[[noreturn]] void throw_error(const std::string& message);
[[noreturn]] void throw_internal(const char* what, const char* file, int line);

}  // namespace detail
}  // namespace tare

// TARE_CHECK(condition, "softmax: x is ", x.shape(), ...): the parts are evaluated only on failure.
#define TARE_CHECK(condition, ...)                                      \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::tare::detail::throw_error(::tare::detail::concat(__VA_ARGS__)); \
  } while (0)

#define TARE_THROW(...) ::tare::detail::throw_error(::tare::detail::concat(__VA_ARGS__))

// An invariant of our own code.
#define TARE_ASSERT(condition)                                        \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::tare::detail::throw_internal(#condition, __FILE__, __LINE__); \
  } while (0)

#define TARE_UNREACHABLE() ::tare::detail::throw_internal("unreachable", __FILE__, __LINE__)
