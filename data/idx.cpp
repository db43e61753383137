// SPDX-License-Identifier: Apache-2.0
#include "tare/data/idx.h"

#include <cstdio>

#include "tare/core/error.h"
#include "tare/core/mapped_file.h"
#include "tare/data/byte_reader.h"

namespace tare::data {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;

// What the format calls a type of elements.
const char* type_name(uint8_t type) {
  switch (type) {
    case kUnsignedByte:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "16-bit integers";
    case 0x0c:
      return "32-bit integers";
    case 0x0d:
      return "32-bit floats";
    case 0x0e:
      return "64-bit floats";
    default:
      return "no type of IDX";
  }
}

std::string hex(uint32_t value, int digits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%0*x", digits, value);
  return text;
}

uint32_t big_endian(const uint8_t* b) {
  return uint32_t(b[0]) << 24 | uint32_t(b[1]) << 16 | uint32_t(b[2]) << 8 | b[3];
}

// The number of dimensions.
int read_magic(ByteReader& reader, const std::string& source) {
  uint8_t magic[4];
  const size_t got = reader.read(magic, sizeof magic);
  TARE_CHECK(got == sizeof magic, source, ": ", got, " bytes are no IDX file, which begins with 4");
  TARE_CHECK(magic[0] == 0 && magic[1] == 0, source, ": begins with ", hex(big_endian(magic), 8),
             "; an IDX file begins with two bytes of 0");
  TARE_CHECK(magic[2] == kUnsignedByte, source, ": elements of type ", hex(magic[2], 2), " (",
             type_name(magic[2]), "); only ", hex(kUnsignedByte, 2), " (", type_name(kUnsignedByte),
             ") is read");
  TARE_CHECK(magic[3] >= 1 && magic[3] <= kMaxDims, source, ": ", int(magic[3]),
             " dimensions; expected 1 to ", kMaxDims);
  return magic[3];
}

Shape read_shape(ByteReader& reader, int dims, const std::string& source) {
  constexpr uint64_t kMost = uint64_t(1) << 62;  // no file has as much
  Shape shape;
  uint64_t elements = 1;
  for (int i = 0; i < dims; ++i) {
    uint8_t extent[4];
    TARE_CHECK(reader.read(extent, sizeof extent) == sizeof extent, source, ": cut short in extent ", i + 1,
               " of ", dims);
    const uint32_t n = big_endian(extent);
    TARE_CHECK(n > 0, source, ": extent ", i + 1, " of ", dims, " is 0");
    shape.push_back(n);
    elements = elements > kMost / n ? kMost : elements * n;
  }
  TARE_CHECK(elements <= reader.most_left(), source, ": cut short: ", shape, " needs ", elements,
             " bytes, at most ", reader.most_left(), " follow");
  return shape;
}

}  // namespace

Tensor parse_idx(std::span<const std::byte> bytes, const std::string& source) {
  ByteReader reader(bytes, source);
  const int dims = read_magic(reader, source);
  const Shape shape = read_shape(reader, dims, source);
  Tensor array = Tensor::empty(shape, {DType::u8, kCpu, Category::data});
  const auto needed = size_t(array.numel());
  const size_t got = reader.read(array.mutable_data<uint8_t>(), needed);
  TARE_CHECK(got == needed, source, ": cut short: ", shape, " needs ", needed, " bytes, ", got, " follow");
  uint8_t more;
  TARE_CHECK(reader.read(&more, 1) == 0, source, ": bytes follow the ", needed, " of ", shape);
  return array;
}

Tensor read_idx(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path, MappedFile::Access::read_only);
  return parse_idx({file->data(), size_t(file->size())}, path.string());
}

}  // namespace tare::data
