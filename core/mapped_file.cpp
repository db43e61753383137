// SPDX-License-Identifier: Apache-2.0
#include "tare/core/mapped_file.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tare/core/error.h"

namespace tare {
namespace {

// Closes the descriptor on every way out; a mapping outlives it.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path, Access access) {
  // O_NONBLOCK: a FIFO must not block before it is refused.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  TARE_CHECK(file.fd >= 0, path.string(), ": cannot open: ", system_reason(errno));
  struct stat info {};
  TARE_CHECK(fstat(file.fd, &info) == 0, path.string(), ": cannot read its size: ", system_reason(errno));
  TARE_CHECK(S_ISREG(info.st_mode), path.string(), ": is ", S_ISDIR(info.st_mode) ? "a folder" : "special",
             ", not a regular file");

  const std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  mapped->size_ = info.st_size;
  if (info.st_size == 0) return mapped;
  const bool writable = access == Access::copy_on_write;
  // MAP_NORESERVE: copies are made page by page where written, so swap for all of them is not set aside.
  void* data = mmap(nullptr, size_t(info.st_size), writable ? PROT_READ | PROT_WRITE : PROT_READ,
                    writable ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED, file.fd, 0);
  TARE_CHECK(data != MAP_FAILED, path.string(), ": cannot map ", info.st_size,
             " bytes: ", system_reason(errno));
  mapped->data_ = static_cast<std::byte*>(data);
  return mapped;
}

void MappedFile::expect_random_access() const {
  if (data_) madvise(data_, size_t(size_), MADV_RANDOM);  // advice: it works as well without, only slower
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_t(size_));
}

}  // namespace tare
