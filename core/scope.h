// SPDX-License-Identifier: Apache-2.0
// Where the program is: the path of the module being run ("h.3.attn") and the op. The memory ledger labels
// allocations with it, random ops derive their stream from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tare {

// While it lives, the calling thread is inside the sub-module `name`.
class PathScope {
 public:
  explicit PathScope(std::string_view name);
  ~PathScope();
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  size_t old_length_;
  uint64_t old_hash_;
};

// Restores a path that was current earlier: a backward runs where its forward ran.
class RestoredPathScope {
 public:
  explicit RestoredPathScope(std::string path);
  ~RestoredPathScope();
  RestoredPathScope(const RestoredPathScope&) = delete;
  RestoredPathScope& operator=(const RestoredPathScope&) = delete;

 private:
  std::string old_path_;
  uint64_t old_hash_;
};

// While it lives, allocations are labelled with this op. `name` must be a string literal.
class OpScope {
 public:
  explicit OpScope(const char* name);
  ~OpScope();
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  const char* old_;
};

const std::string& current_path();
uint64_t current_path_hash();  // FNV-1a of the path; the same on every device, rank and run
const char* current_op();      // "" outside any op

}  // namespace tare
