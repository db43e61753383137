// SPDX-License-Identifier: Apache-2.0
// The safetensors format: a validated header of names, dtypes, shapes and byte ranges, then the data, which
// is read in place from a mapping. https://github.com/huggingface/safetensors describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tare/core/mapped_file.h"
#include "tare/core/tensor.h"

namespace tare {

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsEntry {
  std::string name;
  std::string dtype;           // as the file says: "F32", also those Tare has no type for, such as "F8_E4M3"
  std::vector<int64_t> shape;  // any rank
  int64_t begin = 0, end = 0;  // bytes, counted from the start of the data
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  SafetensorsMetadata metadata;
  int64_t data_start = 0;  // byte of the file at which the data begins
};

// Reads and checks the header of a whole file's bytes. Every deviation from the format is an Error that names
// `source`, the fault and, where there is one, the tensor: a header that is missing, too large (100 MB), cut,
// not UTF-8 JSON or of another structure; a key twice; a dtype that the format lacks; a shape that overflows
// or does not fit its bytes; ranges with holes or overlaps; bytes missing or left over at the end.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, const std::string& source);

// The dtype in which Tare reads a tensor of the file; nothing for the formats that it has no type for.
std::optional<DType> dtype_from_safetensors(std::string_view dtype);
std::string_view safetensors_name_of(DType dtype);

// One file. Copies share the mapping. Thread-safe to read.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_->path(); }
  const std::vector<SafetensorsEntry>& entries() const { return header_->entries; }
  const SafetensorsMetadata& metadata() const { return header_->metadata; }
  bool contains(std::string_view name) const { return index_->contains(name); }
  const SafetensorsEntry& entry(std::string_view name) const;  // Error when the file has no such tensor
  // A view of the mapping, which lives as long as the view and is not charged to the ledger; writing to it
  // changes memory, never the file. Data that is not aligned for its dtype is copied. Error when the file has
  // no such tensor, Tare has no such dtype, the rank exceeds kMaxDims, or a bool is neither 0 nor 1.
  Tensor tensor(std::string_view name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const SafetensorsHeader> header_;
  std::shared_ptr<const std::map<std::string, size_t, std::less<>>> index_;
};

// The weights of a model, which may be one file or many: `path` is a .safetensors file, an index
// (model.safetensors.index.json), or a folder that holds model.safetensors or else that index.
class SafetensorsModel {
 public:
  explicit SafetensorsModel(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::vector<std::string> names() const;  // sorted
  bool contains(std::string_view name) const { return file_of_.contains(name); }
  const SafetensorsEntry& entry(std::string_view name) const { return file_of(name).entry(name); }
  Tensor tensor(std::string_view name) const { return file_of(name).tensor(name); }
  const std::vector<SafetensorsFile>& files() const { return files_; }

 private:
  const SafetensorsFile& file_of(std::string_view name) const;
  void read_index(const std::filesystem::path& index);
  void add_file(const std::filesystem::path& file);

  std::filesystem::path path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t, std::less<>> file_of_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Writes the tensors, ordered by dtype (descending) and name as the reference implementation does, and the
// metadata, to which "format": "pt" is added when it has no "format". Strided tensors and those of other
// devices are made contiguous on the CPU one at a time. The file appears whole or not at all (FileWriter).
// Error on a name that is double, "__metadata__" or not UTF-8, and on tensors without data.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const SafetensorsMetadata& metadata = {});

}  // namespace tare
