// SPDX-License-Identifier: Apache-2.0
#include "tare/core/utf8.h"

#include <cstddef>
#include <cstdint>

namespace tare {

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) { return at < text.size() ? uint32_t(uint8_t(text[at])) : 0u; };
    const uint32_t first = byte(i);
    const size_t length = first < 0x80   ? 1
                          : first < 0xc2 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    if (length == 0) return false;
    uint32_t code = length == 1 ? first : first & (0x7fu >> length);
    for (size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    // Two bytes cannot be overlong, since 0xc0 and 0xc1 are refused above.
    if (length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) return false;
    if (length == 4 && (code < 0x10000 || code > 0x10ffff)) return false;
    i += length;
  }
  return true;
}

}  // namespace tare
