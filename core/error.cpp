// SPDX-License-Identifier: Apache-2.0
#include "tare/core/error.h"

#include <string>
#include <system_error>

namespace tare {

std::string in_quotes(std::string_view text) {
  constexpr size_t kLongest = 120, kHead = 80, kTail = 37;
  constexpr char kDigits[] = "0123456789abcdef";
  const auto escaped = [&](std::string_view part) {
    std::string s;
    for (const unsigned char c : part) {
      if (c == '"' || c == '\\') {
        s += {'\\', char(c)};
      } else if (c >= 0x20 && c < 0x7f) {
        s += char(c);
      } else {
        s += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
      }
    }
    return s;
  };
  if (text.size() <= kLongest) return '"' + escaped(text) + '"';
  return '"' + escaped(text.substr(0, kHead)) + "..." + escaped(text.substr(text.size() - kTail)) + '"';
}

std::string system_reason(int error) { return std::generic_category().message(error); }

namespace detail {

void throw_error(const std::string& message) { throw Error(message); }

void throw_internal(const char* what, const char* file, int line) {
  throw std::logic_error(concat("internal error: ", what, " at ", file, ":", line));
}

}  // namespace detail
}  // namespace tare
