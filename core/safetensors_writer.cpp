// SPDX-License-Identifier: Apache-2.0
// Writing safetensors files, byte for byte as the reference implementation does.
#include <algorithm>
#include <array>
#include <sstream>

#include "tare/core/error.h"
#include "tare/core/file_writer.h"
#include "tare/core/json.h"
#include "tare/core/safetensors.h"

namespace tare {
namespace {

// Position of a dtype in the format's order, which is also that of alignment; larger ones come first.
int rank_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return 0;
    case DType::u8:
      return 1;
    case DType::f16:
      return 2;
    case DType::bf16:
      return 3;
    case DType::i32:
      return 4;
    case DType::f32:
      return 5;
    case DType::f64:
      return 6;
    case DType::i64:
      return 7;
  }
  TARE_UNREACHABLE();
}

using Entry = NamedTensors::value_type;

std::vector<const Entry*> in_file_order(const std::filesystem::path& path, const NamedTensors& tensors) {
  std::vector<const Entry*> order;
  for (const Entry& entry : tensors) {
    const auto& [name, tensor] = entry;
    TARE_CHECK(name != "__metadata__", path.string(), ": a tensor cannot be named \"__metadata__\"");
    TARE_CHECK(tensor.defined() && !tensor.device().is_meta(), path.string(), ": tensor ", in_quotes(name),
               " has no data");
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    const int ra = rank_of(a->second.dtype()), rb = rank_of(b->second.dtype());
    return ra != rb ? ra > rb : a->first < b->first;
  });
  return order;
}

std::string header_text(const std::vector<const Entry*>& order, SafetensorsMetadata metadata) {
  metadata.try_emplace("format", "pt");
  std::ostringstream text;
  text << "{\"__metadata__\":{";
  const char* comma = "";
  for (const auto& [key, value] : metadata) {
    text << comma << json_string(key) << ':' << json_string(value);
    comma = ",";
  }
  text << '}';
  int64_t begin = 0;
  for (const Entry* entry : order) {
    const auto& [name, tensor] = *entry;
    text << ',' << json_string(name) << ":{\"dtype\":\"" << safetensors_name_of(tensor.dtype())
         << "\",\"shape\":[";
    for (int i = 0; i < tensor.dim(); ++i) text << (i ? "," : "") << tensor.size(i);
    text << "],\"data_offsets\":[" << begin << ',' << begin + tensor.nbytes() << "]}";
    begin += tensor.nbytes();
  }
  text << '}';
  std::string header = text.str();
  header.append((8 - header.size() % 8) % 8, ' ');
  return header;
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const SafetensorsMetadata& metadata) {
  const std::vector<const Entry*> order = in_file_order(path, tensors);
  std::vector<std::string_view> names;
  for (const Entry& entry : tensors) names.push_back(entry.first);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  TARE_CHECK(twice == names.end(), path.string(), ": two tensors are named ", in_quotes(*twice));

  const std::string header = header_text(order, metadata);
  std::array<char, 8> length;
  for (size_t i = 0; i < length.size(); ++i) length[i] = char(uint64_t(header.size()) >> (8 * i));
  FileWriter file(path);
  file.write(length.data(), int64_t(length.size()));
  file.write(header);
  for (const Entry* entry : order) {
    const Tensor tensor = entry->second.to(kCpu).contiguous();
    if (tensor.numel() > 0) file.write(tensor.raw(), tensor.nbytes());
  }
  file.commit();
}

}  // namespace tare
