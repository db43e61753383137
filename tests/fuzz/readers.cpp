// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/readers.h"

#include <cstring>
#include <span>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tare/core/error.h"
#include "tare/core/json.h"
#include "tare/core/safetensors.h"
#include "tare/data/idx.h"

#include "tests/support/idx_files.h"
#include "tests/support/malformed_safetensors.h"

namespace tare::test {
namespace {

void require(bool holds, const std::string& fault) {
  if (!holds) throw ReaderFault(fault);
}

void read_json(const std::string& text) {
  std::string written;
  try {
    written = Json::parse(text, "input").dump();
  } catch (const Error&) {
    return;
  }
  for (const int indent : {0, 2}) {
    const Json again = Json::parse(Json::parse(written).dump(indent));
    require(again.dump() == written, "JSON changes when it is written and read: " + written);
  }
}

// A file in memory with a path.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(memfd_create("fuzzed", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != ssize_t(bytes.size()))
      throw std::runtime_error("memfd_create: no file in memory");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Tensors are read through the file, as a user does; a bool of 2 or nine dimensions may still be an Error.
void read_tensors(const std::string& bytes, int64_t data_start) {
  const MemoryFile memory(bytes);
  const SafetensorsFile file(memory.path());
  for (const SafetensorsEntry& entry : file.entries()) {
    try {
      const Tensor tensor = file.tensor(entry.name);
      require(tensor.nbytes() == entry.end - entry.begin, "wrong bytes for " + entry.name);
      require(tensor.nbytes() == 0 || std::memcmp(tensor.raw(), bytes.data() + data_start + entry.begin,
                                                  size_t(tensor.nbytes())) == 0,
              "other bytes than the file's for " + entry.name);
    } catch (const Error&) {
      continue;
    }
  }
}

void read_safetensors(const std::string& bytes) {
  SafetensorsHeader header;
  try {
    header = parse_safetensors_header(std::as_bytes(std::span(bytes)), "input");
  } catch (const Error&) {
    return;
  }
  int64_t at = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    require(entry.begin == at && entry.end >= at, "a hole or an overlap before " + entry.name);
    at = entry.end;
  }
  require(header.data_start + at == int64_t(bytes.size()), "bytes are left over");
  read_tensors(bytes, header.data_start);
}

void read_idx(const std::string& bytes) {
  Tensor array;
  try {
    array = data::parse_idx(std::as_bytes(std::span(bytes)), "input");
  } catch (const Error&) {
    return;
  }
  require(array.dim() >= 1 && array.numel() >= 1, "an array without elements");
  if (bytes.starts_with("\x1f\x8b")) return;
  const size_t header = size_t(4 + 4 * array.dim());
  require(bytes.size() == header + size_t(array.numel()), "bytes are left over or missing");
  require(std::memcmp(array.raw(), bytes.data() + header, size_t(array.numel())) == 0,
          "other bytes than the file's");
}

}  // namespace

FuzzedReader fuzzed_json() {
  return {"json",
          read_json,
          {R"({"n_embd": 768, "scale": 1.5e-05, "names": ["a", "\u00e9\n"], "tied": true, "none": null})",
           R"([[-9223372036854775808, 18446744073709551615], {"a": {"b": [0.1, -0.0, 1e308]}}])",
           R"({"\ud83e\udd17": "\ud83e\udd17 \u0000 \\ \/ \b\f\n\r\t", "": [true, false, null, 5e-324]})",
           "[[[[[[[[]]]]]]]]", " 12345678901234567890123 ", "\"\xe2\x82\xac \xf0\x9f\xa4\x97\"", "1e999",
           "-0", "[1,]", "{\"a\":1,\"a\":2}", "\"\\ud800\"", std::string(65, '[') + std::string(65, ']')}};
}

FuzzedReader fuzzed_safetensors() {
  FuzzedReader reader{"safetensors", read_safetensors, {good_safetensors()}};
  reader.seeds.push_back(safetensors_bytes(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                           R"("w":{"dtype":"I32","shape":[1],"data_offsets":[1,5]}})",
                                           5));
  for (const MalformedFile& file : malformed_headers())
    if (file.bytes.size() <= 4096) reader.seeds.push_back(file.bytes);
  return reader;
}

FuzzedReader fuzzed_idx() {
  FuzzedReader reader{"idx", read_idx, {idx_bytes({7}), idx_bytes({2, 3, 4}), gzipped(idx_bytes({30, 5}))}};
  for (const MalformedIdx& file : malformed_idx()) reader.seeds.push_back(file.bytes);
  return reader;
}

}  // namespace tare::test
