// SPDX-License-Identifier: Apache-2.0
// The bytes of a file in their order, those of a gzip file unpacked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tare::data {

class ByteReader {
 public:
  // `bytes` is a whole file, which must outlive the reader and is gzip (RFC 1952) when its first two bytes
  // say so, of one member or several. `source` names it in errors.
  ByteReader(std::span<const std::byte> bytes, std::string source);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  // The next n bytes; how many there were, fewer than n at the end only. Error on gzip data that is damaged,
  // cut short or followed by something else. The checksum of a gzip member is known to be right only once its
  // end was passed: ask for a byte more.
  size_t read(uint8_t* out, size_t n);
  // No more bytes than this can follow: what is left, and for gzip what deflate could at most unpack it to.
  uint64_t most_left() const;
  bool is_gzip() const { return inflater_ != nullptr; }

 private:
  struct Inflater;
  size_t read_gzip(uint8_t* out, size_t n);
  void begin_member();

  std::span<const std::byte> bytes_;  // what was not yet read
  std::string source_;
  std::unique_ptr<Inflater> inflater_;  // of gzip files
};

std::string version_of_zlib();  // of the library that unpacks

}  // namespace tare::data
