// SPDX-License-Identifier: Apache-2.0
#include "tare/core/byte_size.h"

#include <algorithm>
#include <limits>
#include <string>

#include "tare/core/error.h"

namespace tare {
namespace {

struct Unit {
  std::string_view name;  // in small letters
  int64_t bytes;
};
constexpr int64_t kThousand = 1000, kKibi = 1024;
constexpr Unit kUnits[] = {{"", 1},
                           {"b", 1},
                           {"kb", kThousand},
                           {"mb", kThousand* kThousand},
                           {"gb", kThousand* kThousand* kThousand},
                           {"tb", kThousand* kThousand* kThousand* kThousand},
                           {"kib", kKibi},
                           {"mib", kKibi* kKibi},
                           {"gib", kKibi* kKibi* kKibi},
                           {"tib", kKibi* kKibi* kKibi* kKibi}};
constexpr int kMostDigits = 18;  // on either side of the point

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  TARE_THROW("size ", in_quotes(std::string(text)), ": ", why);
}

// The digits at the front of `text`, which loses them.
std::string_view take_digits(std::string_view& text) {
  const size_t n = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

int64_t number_of(std::string_view digits) {
  int64_t value = 0;
  for (const char c : digits) value = 10 * value + (c - '0');
  return value;
}

int64_t unit_of(std::string_view text, std::string_view rest) {
  std::string name(rest);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  for (const Unit& unit : kUnits)
    if (unit.name == name) return unit.bytes;
  if (name.size() == 1 && std::string_view("kmgt").find(name[0]) != std::string_view::npos)
    refuse(text, detail::concat("write ", rest, "iB (powers of 1,024) or ", rest, "B (powers of 1,000)"));
  refuse(text, "expected a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 8GiB");
}

}  // namespace

int64_t parse_byte_size(std::string_view text) {
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  std::string_view part;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    part = take_digits(rest);
    if (part.empty()) refuse(text, "expected digits after the point");
  }
  if (whole.empty()) refuse(text, "expected a number with a unit, such as 8GiB");
  if (whole.size() > kMostDigits || part.size() > kMostDigits) refuse(text, "has too many digits");
  if (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  const int64_t unit = unit_of(text, rest);
  __int128 scale = 1;
  for (size_t i = 0; i < part.size(); ++i) scale *= 10;
  const __int128 bytes = __int128(number_of(whole)) * unit + __int128(number_of(part)) * unit / scale;
  if (bytes > std::numeric_limits<int64_t>::max()) refuse(text, "is more than 64 bits hold");
  return int64_t(bytes);
}

}  // namespace tare
