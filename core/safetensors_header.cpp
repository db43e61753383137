// SPDX-License-Identifier: Apache-2.0
// Reading and checking the header of a safetensors file.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "tare/core/error.h"
#include "tare/core/safetensors.h"

namespace tare {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;

struct FileDType {
  std::string_view name;
  int64_t bits;
  std::optional<DType> dtype;
};

// All dtypes of the format.
constexpr std::array<FileDType, 22> kFileDTypes = {{
    {"BOOL", 8, DType::boolean},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"U8", 8, DType::u8},
    {"I8", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},
    {"I16", 16, {}},
    {"U16", 16, {}},
    {"F16", 16, DType::f16},
    {"BF16", 16, DType::bf16},
    {"I32", 32, DType::i32},
    {"U32", 32, {}},
    {"F32", 32, DType::f32},
    {"C64", 64, {}},
    {"F64", 64, DType::f64},
    {"I64", 64, DType::i64},
    {"U64", 64, {}},
}};

const FileDType* find_dtype(std::string_view name) {
  const auto it = std::find_if(kFileDTypes.begin(), kFileDTypes.end(),
                               [&](const FileDType& dtype) { return dtype.name == name; });
  return it == kFileDTypes.end() ? nullptr : &*it;
}

std::string list(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

// Takes the parser's events for {"name": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, ...,
// "__metadata__": {"key": "value"}} and refuses any other structure at the first event that leaves it, so
// that neither depth nor size of a bad header matters.
class HeaderEvents {
 public:
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  HeaderEvents(const std::string& source, SafetensorsHeader& header) : source_(source), header_(header) {}

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_float(double, const std::string& text) { return unexpected("the number " + in_quotes(text)); }
  bool number_integer(int64_t value) { return unexpected("the number " + std::to_string(value)); }
  bool binary(binary_t&) { return unexpected("binary data"); }

  bool number_unsigned(uint64_t value) {
    if (place_ != Place::list) return unexpected("the number " + std::to_string(value));
    TARE_CHECK(value <= uint64_t(std::numeric_limits<int64_t>::max()), where(), field_, " holds ", value,
               ", which exceeds 63 bits");
    (field_ == "shape" ? entry_.shape : offsets_).push_back(int64_t(value));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::metadata) {
      header_.metadata[field_] = std::move(value);
    } else if (place_ == Place::entry && field_ == "dtype") {
      entry_.dtype = std::move(value);
    } else {
      return unexpected("the text " + in_quotes(value));
    }
    return true;
  }

  bool start_object(size_t) {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top) {
      place_ = entry_.name == "__metadata__" ? Place::metadata : Place::entry;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(std::string& name) {
    if (place_ == Place::top) {
      TARE_CHECK(names_.insert(name).second, source_, ": the key ", in_quotes(name), " appears twice");
      entry_ = {};
      entry_.name = std::move(name);
      offsets_.clear();
      seen_.clear();
      return true;
    }
    if (place_ == Place::entry)
      TARE_CHECK(name == "dtype" || name == "shape" || name == "data_offsets", where(), "unknown key ",
                 in_quotes(name));
    TARE_CHECK(seen_.insert(name).second, where(), "the key ", in_quotes(name), " appears twice");
    field_ = std::move(name);
    return true;
  }

  bool end_object() {
    if (place_ == Place::top) {
      place_ = Place::outside;
      return true;
    }
    if (place_ == Place::entry) finish_entry();
    place_ = Place::top;
    return true;
  }

  bool start_array(size_t) {
    if (place_ != Place::entry || field_ == "dtype") return unexpected("an array");
    place_ = Place::list;
    return true;
  }

  bool end_array() {
    place_ = Place::entry;
    return true;
  }

  bool parse_error(size_t byte, const std::string&, const nlohmann::json::exception&) {
    TARE_THROW(source_, ": the header is not valid JSON in UTF-8, at byte ", byte, " of it");
  }

 private:
  enum class Place { outside, top, metadata, entry, list };

  std::string where() const {
    if (entry_.name == "__metadata__") return source_ + ": __metadata__: ";
    return source_ + ": tensor " + in_quotes(entry_.name) + ": ";
  }

  bool unexpected(const std::string& what) {
    switch (place_) {
      case Place::outside:
        TARE_THROW(source_, ": the header is ", what, ", not an object");
      case Place::top:
        TARE_THROW(where(), "expected an object, got ", what);
      case Place::metadata:
        TARE_THROW(where(), in_quotes(field_), " must be a text, got ", what);
      case Place::entry:
        TARE_THROW(where(), field_, field_ == "dtype" ? " must be a text, got " : " must be an array, got ",
                   what);
      case Place::list:
        TARE_THROW(where(), field_, " must hold integers from 0 on, got ", what);
    }
    TARE_UNREACHABLE();
  }

  void finish_entry() {
    for (const char* field : {"dtype", "shape", "data_offsets"})
      TARE_CHECK(seen_.contains(field), where(), "has no ", field);
    TARE_CHECK(offsets_.size() == 2, where(), "data_offsets ", list(offsets_), " must be two numbers");
    entry_.begin = offsets_[0];
    entry_.end = offsets_[1];
    TARE_CHECK(entry_.begin <= entry_.end, where(), "data_offsets ", list(offsets_),
               " end before they begin");
    const FileDType* dtype = find_dtype(entry_.dtype);
    TARE_CHECK(dtype, where(), "unknown dtype ", in_quotes(entry_.dtype));
    int64_t bits = dtype->bits;
    for (const int64_t extent : entry_.shape)
      TARE_CHECK(!__builtin_mul_overflow(bits, extent, &bits), where(), "the size of ", entry_.dtype, " ",
                 list(entry_.shape), " overflows 64 bits");
    TARE_CHECK(bits % 8 == 0, where(), entry_.dtype, " ", list(entry_.shape), " does not fill whole bytes");
    TARE_CHECK(bits / 8 == entry_.end - entry_.begin, where(), entry_.dtype, " ", list(entry_.shape),
               " needs ", bits / 8, " bytes, data_offsets ", list(offsets_), " hold ",
               entry_.end - entry_.begin);
    header_.entries.push_back(std::move(entry_));
    entry_ = {};
  }

  const std::string& source_;
  SafetensorsHeader& header_;
  Place place_ = Place::outside;
  SafetensorsEntry entry_;
  std::vector<int64_t> offsets_;
  std::string field_;
  std::unordered_set<std::string> names_, seen_;
};

// The tensors must fill the data section: no hole, no overlap, nothing missing or left over.
void check_ranges(const SafetensorsHeader& header, int64_t data_bytes, const std::string& source) {
  int64_t at = 0;
  const std::string* previous = nullptr;
  for (const SafetensorsEntry& entry : header.entries) {
    TARE_CHECK(entry.begin <= at, source, ": bytes ", at, " to ", entry.begin, " before tensor ",
               in_quotes(entry.name), " belong to no tensor");
    TARE_CHECK(entry.begin == at, source, ": tensor ", in_quotes(entry.name), " begins at byte ", entry.begin,
               " and overlaps ", previous ? in_quotes(*previous) : "the header", ", which ends at ", at);
    TARE_CHECK(entry.end <= data_bytes, source, ": tensor ", in_quotes(entry.name), " ends at byte ",
               entry.end, ", but the file has ", data_bytes, " bytes of data: it is cut short");
    at = entry.end;
    previous = &entry.name;
  }
  TARE_CHECK(at == data_bytes, source, ": ", data_bytes - at, " bytes at the end belong to no tensor");
}

}  // namespace

std::optional<DType> dtype_from_safetensors(std::string_view dtype) {
  const FileDType* found = find_dtype(dtype);
  return found ? found->dtype : std::nullopt;
}

std::string_view safetensors_name_of(DType dtype) {
  const auto it = std::find_if(kFileDTypes.begin(), kFileDTypes.end(),
                               [&](const FileDType& file_dtype) { return file_dtype.dtype == dtype; });
  TARE_ASSERT(it != kFileDTypes.end());
  return it->name;
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, const std::string& source) {
  TARE_CHECK(bytes.size() >= size_t(kLengthBytes), source, ": has ", bytes.size(),
             " bytes; a safetensors file begins with ", kLengthBytes, " that give the header's length");
  uint64_t length = 0;  // little-endian
  for (int i = 0; i < kLengthBytes; ++i) length |= std::to_integer<uint64_t>(bytes[size_t(i)]) << (8 * i);
  TARE_CHECK(length > 0, source, ": the header is empty");
  TARE_CHECK(length <= kLongestHeader, source, ": the header's length ", length, " exceeds the limit of ",
             kLongestHeader, " bytes; this is no safetensors file");
  const uint64_t rest = bytes.size() - size_t(kLengthBytes);
  TARE_CHECK(length <= rest, source, ": the header has ", length, " bytes, but only ", rest,
             " follow: the file is cut short");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  TARE_CHECK(text.front() == '{', source, ": the header does not begin with '{'");

  // nlohmann's parser takes a zero byte for the end of the text.
  TARE_CHECK(text.find('\0') == text.npos, source, ": the header is not valid JSON: it holds a zero byte");

  SafetensorsHeader header;
  header.data_start = kLengthBytes + int64_t(length);
  HeaderEvents events(source, header);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  check_ranges(header, int64_t(bytes.size()) - header.data_start, source);
  return header;
}

}  // namespace tare
