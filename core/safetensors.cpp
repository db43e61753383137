// SPDX-License-Identifier: Apache-2.0
#include "tare/core/safetensors.h"

#include <algorithm>
#include <cstring>

#include "tare/core/error.h"
#include "tare/core/json.h"

namespace tare {

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(MappedFile::open(path, MappedFile::Access::copy_on_write)) {
  header_ = std::make_shared<const SafetensorsHeader>(
      parse_safetensors_header({file_->data(), size_t(file_->size())}, path.string()));
  auto index = std::make_shared<std::map<std::string, size_t, std::less<>>>();
  for (size_t i = 0; i < header_->entries.size(); ++i) index->emplace(header_->entries[i].name, i);
  index_ = std::move(index);
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto it = index_->find(name);
  TARE_CHECK(it != index_->end(), path().string(), ": has no tensor ", in_quotes(name));
  return header_->entries[it->second];
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry& found = entry(name);
  const std::string where = path().string() + ": tensor " + in_quotes(name) + ": ";
  const std::optional<DType> dtype = dtype_from_safetensors(found.dtype);
  TARE_CHECK(dtype, where, "Tare has no dtype for ", found.dtype);
  TARE_CHECK(int(found.shape.size()) <= kMaxDims, where, "has ", found.shape.size(),
             " dimensions; a tensor has at most ", kMaxDims);
  const Shape shape{std::span<const int64_t>(found.shape)};
  std::byte* data = file_->data() + header_->data_start + found.begin;
  if (*dtype == DType::boolean)
    TARE_CHECK(
        std::all_of(data, data + (found.end - found.begin), [](std::byte b) { return b <= std::byte{1}; }),
        where, "a byte of BOOL is neither 0 nor 1");
  if (reinterpret_cast<uintptr_t>(data) % uintptr_t(size_of(*dtype)) == 0)
    return Tensor::from_blob(data, shape, *dtype, [file = file_] {});
  Tensor copied = Tensor::empty(shape, {*dtype, kCpu, {}});
  if (found.end > found.begin) std::memcpy(copied.mutable_raw(), data, size_t(found.end - found.begin));
  return copied;
}

SafetensorsModel::SafetensorsModel(const std::filesystem::path& path) : path_(path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(path)) {
    file = path / "model.safetensors";
    if (!std::filesystem::exists(file)) file += ".index.json";
    TARE_CHECK(std::filesystem::exists(file), path.string(),
               ": holds neither model.safetensors nor model.safetensors.index.json");
  }
  if (file.extension() == ".json")
    read_index(file);
  else
    add_file(file);
}

void SafetensorsModel::add_file(const std::filesystem::path& file) {
  files_.emplace_back(file);
  for (const SafetensorsEntry& entry : files_.back().entries()) {
    const auto [it, inserted] = file_of_.emplace(entry.name, files_.size() - 1);
    TARE_CHECK(inserted, file.string(), ": tensor ", in_quotes(entry.name), " is also in ",
               files_[it->second].path().string());
  }
}

// {"metadata": {...}, "weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}}
void SafetensorsModel::read_index(const std::filesystem::path& index) {
  const Json json = Json::parse_file(index);
  const auto& weight_map = json.at("weight_map").members();
  std::map<std::string, size_t> shards;
  for (const auto& [name, file] : weight_map) {
    const std::string& shard = file.as_string();
    TARE_CHECK(!shard.empty() && shard != "." && shard != ".." && shard.find('/') == shard.npos &&
                   shard.find('\0') == shard.npos,
               index.string(), ": weight_map: ", in_quotes(name), ": ", in_quotes(shard),
               " is not the name of a file beside the index");
    if (shards.emplace(shard, shards.size()).second) add_file(index.parent_path() / shard);
  }
  for (const auto& [name, file] : weight_map) {
    const auto it = file_of_.find(name);
    TARE_CHECK(it != file_of_.end() && it->second == shards.at(file.as_string()), index.string(),
               ": weight_map: tensor ", in_quotes(name), " is not in ", in_quotes(file.as_string()));
  }
  for (const auto& [name, file] : file_of_)
    TARE_CHECK(json.at("weight_map").find(name), files_[file].path().string(), ": tensor ", in_quotes(name),
               " is not in the weight_map of ", index.string());
}

std::vector<std::string> SafetensorsModel::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_of_) names.push_back(name);
  return names;
}

const SafetensorsFile& SafetensorsModel::file_of(std::string_view name) const {
  const auto it = file_of_.find(name);
  TARE_CHECK(it != file_of_.end(), path_.string(), ": has no tensor ", in_quotes(name));
  return files_[it->second];
}

}  // namespace tare
