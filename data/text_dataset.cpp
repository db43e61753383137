// SPDX-License-Identifier: Apache-2.0
#include "tare/data/text_dataset.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tare/core/error.h"
#include "tare/core/hash.h"
#include "tare/core/rng.h"

namespace tare::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLeastBytes = 20;  // the held-out tenth then has a token and its target
constexpr int64_t kHashWhole = 64 << 20;
constexpr int64_t kBlocks = 4096, kBlockBytes = 4096;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(folder); it != fs::recursive_directory_iterator(); ++it) {
    const bool hidden = it->path().filename().string().starts_with(".");
    if (hidden && it->is_directory()) it.disable_recursion_pending();
    if (!hidden && it->is_regular_file()) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> files_of(const fs::path& path) {
  try {
    const fs::file_status status = fs::status(path);
    TARE_CHECK(fs::exists(status), "text ", path, ": no such file or folder");
    if (!fs::is_directory(status)) return {path};
    std::vector<fs::path> files = files_below(path);
    TARE_CHECK(!files.empty(), "text ", path, ": the folder has no files");
    return files;
  } catch (const fs::filesystem_error& fault) {  // no permission, for one
    TARE_THROW("text ", path, ": ", fault.what());
  }
}

class Fnv1a64 {
 public:
  void add(const uint8_t* bytes, int64_t n) { hash_ = fnv1a(hash_, std::span(bytes, size_t(n))); }
  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  uint64_t hash_ = kFnvBasis;
};

}  // namespace

TextDataset::TextDataset(const fs::path& path) : path_(path) {
  for (const fs::path& file : files_of(path)) {
    auto mapped = MappedFile::open(file, MappedFile::Access::read_only);
    if (mapped->size() == 0) continue;
    offsets_.push_back(offsets_.back() + mapped->size());
    files_.push_back(std::move(mapped));
  }
  TARE_CHECK(size() > 0, "text ", path, " is empty");
  TARE_CHECK(size() >= kLeastBytes, "text ", path, " has ", size(), " bytes; at least ", kLeastBytes,
             " are needed to hold a tenth out");
  // A smaller text is read whole for its hash, and then is in memory.
  if (size() > kHashWhole)
    for (const auto& file : files_) file->expect_random_access();
}

void TextDataset::read(int64_t begin, int64_t bytes, uint8_t* out) const {
  TARE_CHECK(begin >= 0 && bytes >= 0 && begin <= size() - bytes, "text ", path_, ": bytes ", begin, " to ",
             begin + bytes, " are beyond its ", size());
  size_t file = size_t(std::upper_bound(offsets_.begin(), offsets_.end(), begin) - offsets_.begin()) - 1;
  while (bytes > 0) {
    const int64_t at = begin - offsets_[file];
    const int64_t n = std::min(bytes, files_[file]->size() - at);
    std::memcpy(out, files_[file]->data() + at, size_t(n));
    begin += n;
    bytes -= n;
    out += n;
    ++file;
  }
}

std::string TextDataset::hash() const {
  Fnv1a64 hash;
  std::vector<uint8_t> block(size_t(std::max<int64_t>(kBlockBytes, 1 << 16)));
  if (size() <= kHashWhole) {
    for (int64_t at = 0; at < size(); at += int64_t(block.size())) {
      const int64_t n = std::min<int64_t>(int64_t(block.size()), size() - at);
      read(at, n, block.data());
      hash.add(block.data(), n);
    }
    return "fnv1a64:" + hash.hex();
  }
  const int64_t total = size();
  uint8_t length[8];  // little-endian
  for (int i = 0; i < 8; ++i) length[i] = uint8_t(uint64_t(total) >> (8 * i));
  hash.add(length, sizeof length);
  for (int64_t i = 0; i < kBlocks; ++i) {
    read(int64_t(__int128(i) * (total - kBlockBytes) / (kBlocks - 1)), kBlockBytes, block.data());
    hash.add(block.data(), kBlockBytes);
  }
  return "fnv1a64-sampled:" + hash.hex();
}

WindowSampler::WindowSampler(Span span, int64_t seq, uint64_t seed) : span_(span), seq_(seq), seed_(seed) {
  TARE_CHECK(seq >= 1, "a sequence of ", seq, " tokens; expected at least 1");
  TARE_CHECK(span.size() >= seq + 1, "sequences of ", seq, " tokens need ", seq + 1,
             " bytes, but the text's training part has ", span.size());
  offsets_ = std::min(seq, span.size() - seq);
  windows_ = (span.size() - offsets_) / seq;
}

int64_t WindowSampler::start(int64_t epoch, int64_t index) const {
  constexpr uint64_t kStream =
      fnv1a(kFnvBasis, "data.windows");  // apart from all other random numbers of the seed
  const uint64_t key = RngKey{RngKey{seed_, kStream}.mix(), uint64_t(epoch)}.mix();
  const Philox4 bits = philox(key, 0, ~uint64_t(0));
  const uint64_t word = uint64_t(bits.v[0]) << 32 | bits.v[1];
  const int64_t offset = int64_t((unsigned __int128)(word)*uint64_t(offsets_) >> 64);
  return span_.begin + offset + permuted(index, windows_, key) * seq_;
}

EvaluationWindows::EvaluationWindows(Span span, int64_t seq) : span(span), seq(seq) {
  TARE_CHECK(seq >= 1, "a sequence of ", seq, " tokens; expected at least 1");
  TARE_CHECK(span.size() >= 2, "evaluation needs at least 2 bytes, got ", span.size());
  count = (span.size() - 1 + seq - 1) / seq;
}

}  // namespace tare::data
