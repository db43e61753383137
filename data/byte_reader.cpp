// SPDX-License-Identifier: Apache-2.0
#include "tare/data/byte_reader.h"

#include <algorithm>
#include <cstring>

#include <zlib.h>

#include "tare/core/error.h"

namespace tare::data {
namespace {

constexpr size_t kPiece = size_t(1) << 30;     // zlib counts in 32 bits
constexpr uint64_t kGreatestDeflation = 1032;  // deflate packs no better than 1032 to 1 (zlib's manual)
constexpr int kGzipWindow = 15 + 16;           // the greatest window; + 16: a gzip header and trailer

bool begins_as_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte(0x1f) && bytes[1] == std::byte(0x8b);
}

}  // namespace

struct ByteReader::Inflater {
  z_stream stream{};
  bool inside = true;  // a member that has not ended

  Inflater() { TARE_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "gzip: zlib cannot start"); }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

ByteReader::ByteReader(std::span<const std::byte> bytes, std::string source)
    : bytes_(bytes), source_(std::move(source)) {
  if (begins_as_gzip(bytes_)) inflater_ = std::make_unique<Inflater>();
}

ByteReader::~ByteReader() = default;

uint64_t ByteReader::most_left() const {
  // zlib may hold a window of 32 KiB that it has unpacked and not handed out.
  return inflater_ ? (uint64_t(bytes_.size()) + 64) * kGreatestDeflation + (1 << 16) : bytes_.size();
}

size_t ByteReader::read(uint8_t* out, size_t n) {
  if (inflater_) return read_gzip(out, n);
  const size_t got = std::min(n, bytes_.size());
  if (got > 0) std::memcpy(out, bytes_.data(), got);
  bytes_ = bytes_.subspan(got);
  return got;
}

size_t ByteReader::read_gzip(uint8_t* out, size_t n) {
  z_stream& stream = inflater_->stream;
  size_t got = 0;
  while (got < n) {
    if (!inflater_->inside) {
      if (bytes_.empty()) break;
      begin_member();
    }
    const size_t in = std::min(bytes_.size(), kPiece), room = std::min(n - got, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes_.data()));
    stream.avail_in = uInt(in);
    stream.next_out = out + got;
    stream.avail_out = uInt(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    bytes_ = bytes_.subspan(in - stream.avail_in);
    got += room - stream.avail_out;
    if (status == Z_STREAM_END) {
      inflater_->inside = false;
      continue;
    }
    TARE_CHECK(status != Z_BUF_ERROR && !(status == Z_OK && bytes_.empty() && stream.avail_out > 0), source_,
               ": the gzip data is cut short");
    TARE_CHECK(status != Z_MEM_ERROR, source_, ": no memory to unpack the gzip data");
    TARE_CHECK(status == Z_OK, source_,
               ": the gzip data is damaged: ", stream.msg ? stream.msg : "a preset dictionary is asked for");
  }
  return got;
}

void ByteReader::begin_member() {
  TARE_CHECK(begins_as_gzip(bytes_), source_, ": ", bytes_.size(), " bytes follow the gzip data");
  TARE_CHECK(inflateReset(&inflater_->stream) == Z_OK, source_, ": zlib cannot go on");
  inflater_->inside = true;
}

std::string version_of_zlib() { return zlibVersion(); }

}  // namespace tare::data
