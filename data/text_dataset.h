// SPDX-License-Identifier: Apache-2.0
// A text of any size, mapped and not read: a file, or all files of a folder one after another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tare/core/mapped_file.h"
#include "tare/core/tensor.h"
#include "tare/data/order.h"

namespace tare::data {

// Copies share the mapping. Thread-safe.
class TextDataset {
 public:
  // A file, or a folder whose regular files (those of sub-folders too, hidden ones not) are joined in the
  // order of their paths. Error when there is nothing, or fewer than 20 bytes.
  explicit TextDataset(const std::filesystem::path& path);

  int64_t size() const { return offsets_.back(); }
  Span train() const { return {0, size() - size() / 10}; }
  Span heldout() const { return {size() - size() / 10, size()}; }  // the last tenth of the bytes
  void read(int64_t begin, int64_t bytes, uint8_t* out) const;     // Error beyond the end
  const std::filesystem::path& path() const { return path_; }
  size_t files() const { return files_.size(); }

  // Names the content in reports and checkpoints: "fnv1a64:<hex>" over all bytes, for more than 64 MiB
  // "fnv1a64-sampled:<hex>" over the size (8 bytes, little-endian) and 4,096 blocks of 4 KiB spread evenly.
  std::string hash() const;

 private:
  std::filesystem::path path_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<int64_t> offsets_{0};  // where each file begins; the last is the size
};

// Windows of seq + 1 bytes: seq inputs and, one further, seq targets. Each epoch cuts the span at a random
// offset into windows that do not overlap and visits them in a random order. Everything follows from (seed,
// epoch, index), in constant time.
class WindowSampler {
 public:
  // Error when the span has no seq + 1 bytes, naming both lengths.
  WindowSampler(Span span, int64_t seq, uint64_t seed);

  int64_t windows_per_epoch() const { return windows_; }
  // First byte of the window that is number `index` of that epoch.
  int64_t start(int64_t epoch, int64_t index) const;
  // The same by the number of windows drawn since the run began.
  int64_t start(int64_t drawn) const { return start(drawn / windows_, drawn % windows_); }

 private:
  Span span_;
  int64_t seq_;
  uint64_t seed_;
  int64_t offsets_ = 1;  // possible cuts
  int64_t windows_ = 1;
};

// All windows of a span without overlap, for evaluation: number i begins at i * seq; the last may be shorter.
struct EvaluationWindows {
  EvaluationWindows(Span span, int64_t seq);
  int64_t count = 0;
  // The number of the k-th of `chosen` windows spread evenly.
  int64_t spread(int64_t k, int64_t chosen) const { return data::spread(k, chosen, count); }

  Span span;
  int64_t seq;
};

}  // namespace tare::data
