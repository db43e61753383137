// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes as people write them.
#pragma once

#include <cstdint>
#include <string_view>

namespace tare {

// "8GiB", "500MB", "1.5 GiB", "4096": a number and B, kB, MB, GB, TB (powers of 1,000), KiB, MiB, GiB, TiB
// (powers of 1,024) or nothing for bytes, in letters of either case. A part of a byte is dropped. Error that
// quotes the text when it is anything else: a sign, "8G", which may be either, or more than 64 bits hold.
int64_t parse_byte_size(std::string_view text);

}  // namespace tare
