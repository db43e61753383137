// SPDX-License-Identifier: Apache-2.0
// IDX files for tests: good ones, packed ones, and those that a reader must refuse, each with words that its
// error must hold.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace tare::test {

inline std::string idx_header(const std::vector<uint32_t>& extents, uint8_t type = 8) {
  std::string bytes = {0, 0, char(type), char(extents.size())};
  for (const uint32_t n : extents)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += char(n >> shift);
  return bytes;
}

// Element i is i * 7 + 3, modulo 256.
inline std::string idx_bytes(const std::vector<uint32_t>& extents) {
  std::string bytes = idx_header(extents);
  size_t elements = 1;
  for (const uint32_t n : extents) elements *= n;
  for (size_t i = 0; i < elements; ++i) bytes += char(i * 7 + 3);
  return bytes;
}

inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, uLong(bytes.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = uInt(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = uInt(packed.size());
  const int status = deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate");
  return packed;
}

struct MalformedIdx {
  std::string name;
  std::string bytes;
  std::vector<std::string> message;
};

inline std::vector<MalformedIdx> malformed_idx() {
  const std::string good = idx_bytes({3, 4, 5}), packed = gzipped(good);
  const auto changed = [](std::string bytes, size_t at) {
    bytes[at] = char(bytes[at] ^ 0x55);
    return bytes;
  };
  return {
      {"no bytes", "", {"0 bytes"}},
      {"three bytes", good.substr(0, 3), {"3 bytes"}},
      {"text", "P5 28 28", {"begins with 0x50352032"}},
      {"no dimensions", idx_header({}), {"0 dimensions"}},
      {"nine dimensions", idx_header({1, 1, 1, 1, 1, 1, 1, 1, 1}) + "x", {"9 dimensions"}},
      {"floats", idx_header({2}, 0x0d) + "12345678", {"0x0d", "32-bit floats"}},
      {"signed bytes", idx_header({2}, 0x09) + "12", {"0x09", "signed bytes"}},
      {"no type", idx_header({2}, 0x01) + "12", {"0x01", "no type of IDX"}},
      {"cut in the extents", good.substr(0, 13), {"cut short in extent 3 of 3"}},
      {"an extent of 0", idx_header({3, 0}), {"extent 2 of 2 is 0"}},
      {"cut in the elements", good.substr(0, good.size() - 1), {"cut short", "(3, 4, 5)", "60 bytes"}},
      {"more than any file", idx_header({~0u, ~0u, ~0u}) + "x", {"cut short"}},
      {"trailing byte", good + "x", {"bytes follow the 60"}},
      {"gzip cut in its header", packed.substr(0, 5), {"cut short"}},
      {"gzip cut in its data", packed.substr(0, packed.size() / 2), {"gzip data is cut short"}},
      {"gzip cut in its trailer", packed.substr(0, packed.size() - 1), {"gzip data is cut short"}},
      {"gzip with another checksum", changed(packed, packed.size() - 8), {"gzip data is damaged"}},
      {"gzip with another length", changed(packed, packed.size() - 1), {"gzip data is damaged"}},
      {"gzip damaged at its start", changed(packed, 10), {"gzip data is damaged"}},
      {"gzip of an unknown method", changed(packed, 2), {"gzip data is damaged"}},
      {"gzip followed by text", packed + "more", {"4 bytes follow the gzip data"}},
      {"gzip of fewer elements", gzipped(good.substr(0, good.size() - 2)), {"needs 60 bytes, 58 follow"}},
      {"gzip of more elements", gzipped(good + "12"), {"bytes follow the 60"}},
      {"gzip of far fewer elements", gzipped(idx_header({~0u, ~0u})), {"cut short"}},
  };
}

}  // namespace tare::test
