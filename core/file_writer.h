// SPDX-License-Identifier: Apache-2.0
// Writing files so that a crash, a full disk or a kill leaves the old file or the new one, never a part.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace tare {

// Writes PATH.tmp-PID beside PATH; commit() makes it durable and renames it over PATH. Without commit the
// temporary file is removed and PATH is untouched. A link is followed; a device or pipe is written in place.
// Every failure, a short write included, is an Error that names the file and the cause; the signal that a
// file-size limit raises (SIGXFSZ) becomes an Error too.
class FileWriter {
 public:
  explicit FileWriter(std::filesystem::path path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(const void* data, int64_t bytes);
  void write(std::string_view text) { write(text.data(), int64_t(text.size())); }
  void commit();  // fsync, close, rename, fsync of the folder

 private:
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
};

// The whole content in one call.
void write_file(const std::filesystem::path& path, std::string_view content);

// fsync of a file or folder: what was written or renamed there survives a power cut.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace tare
