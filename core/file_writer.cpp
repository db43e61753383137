// SPDX-License-Identifier: Apache-2.0
#include "tare/core/file_writer.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "tare/core/error.h"

namespace tare {
namespace {

// A write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills by default; blocked, it fails with EFBIG instead.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &old_);
  }
  ~FileSizeSignalBlock() {
    const timespec now{};
    // Takes the signal that this thread's own write raised, so that it is not delivered later.
    if (raised_) sigtimedwait(&signal_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;
  void set_raised() { raised_ = true; }

 private:
  sigset_t signal_, old_;
  bool raised_ = false;
};

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

FileWriter::FileWriter(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code none;  // no such file yet
  for (int links = 0; std::filesystem::is_symlink(path_, none); ++links) {
    TARE_CHECK(links < 40, path_.string(), ": too many links lead on from each other");
    path_ = path_.parent_path() / std::filesystem::read_symlink(path_);
  }
  const auto status = std::filesystem::status(path_, none);
  // A device or a pipe cannot be replaced.
  const bool in_place = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::filesystem::path written =
      in_place ? path_ : temporary_ = path_.string() + ".tmp-" + std::to_string(getpid());
  fd_ =
      open(written.c_str(), in_place ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) temporary_.clear();
  TARE_CHECK(fd_ >= 0, written.string(), ": cannot create: ", system_reason(errno));
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void FileWriter::write(const void* data, int64_t bytes) {
  TARE_CHECK(fd_ >= 0, path_.string(), ": write after commit");
  constexpr int64_t kAtOnce = 1 << 30;  // write() takes less than 2 GiB at a time
  FileSizeSignalBlock block;
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd_, p, size_t(bytes < kAtOnce ? bytes : kAtOnce));
    if (written < 0 && errno == EINTR) continue;
    const int error = written < 0 ? errno : 0;
    if (error == EFBIG) block.set_raised();
    TARE_CHECK(written > 0, path_.string(), ": cannot write ", bytes,
               " more bytes: ", error ? system_reason(error) : "the system took none");
    p += written;
    bytes -= written;
  }
}

void FileWriter::commit() {
  TARE_CHECK(fd_ >= 0, path_.string(), ": committed twice");
  const bool in_place = temporary_.empty();
  TARE_CHECK(in_place || fsync(fd_) == 0, path_.string(), ": cannot write to disk: ", system_reason(errno));
  // A network file system may report a full disk only here.
  TARE_CHECK(close(std::exchange(fd_, -1)) == 0, path_.string(), ": cannot close: ", system_reason(errno));
  if (in_place) return;
  TARE_CHECK(rename(temporary_.c_str(), path_.c_str()) == 0, path_.string(),
             ": cannot put the file in place: ", system_reason(errno));
  temporary_.clear();
  sync_to_disk(folder_of(path_));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  FileWriter file(path);
  file.write(content);
  file.commit();
}

void sync_to_disk(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TARE_CHECK(fd >= 0, path.string(), ": cannot open: ", system_reason(errno));
  // EINVAL: some file systems have no fsync for folders; a rename there is durable or cannot be made so.
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  close(fd);
  TARE_CHECK(error == 0, path.string(), ": cannot write to disk: ", system_reason(error));
}

}  // namespace tare
