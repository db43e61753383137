// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory: its pages are read when they are touched, so it may be larger than the memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace tare {

// Thread-safe to read. A file that is cut short while it is mapped ends the process with SIGBUS, as with any
// mapping; Tare's own writers replace files and never change them in place.
class MappedFile {
 public:
  enum class Access {
    read_only,
    copy_on_write,  // may be written in memory; the file never changes
  };

  // Error when the path cannot be opened or is not a regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path, Access access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::byte* data() const { return data_; }  // page-aligned; null when the file is empty
  int64_t size() const { return size_; }
  // Tells the system that small pieces will be read here and there, so that it does not read ahead around
  // each.
  void expect_random_access() const;

 private:
  MappedFile() = default;

  std::filesystem::path path_;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tare
