// SPDX-License-Identifier: Apache-2.0
// Files appear whole or not at all, also when the disk is full.
#include "tare/core/file_writer.h"

#include <csignal>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tare/core/safetensors.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace tare {
namespace {

using test::put_file;
using test::read_file;
using test::TempDir;

int64_t files_in(const TempDir& dir) {
  return std::distance(std::filesystem::directory_iterator(dir.path()), {});
}

// Runs `f` in a child that may not write files beyond `bytes`, and returns the message of its Error.
std::string error_under_size_limit(rlim_t bytes, bool ignore_signal, const std::function<void()>& f) {
  int channel[2];
  if (pipe(channel) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string message = "no Error";
    if (ignore_signal) signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      f();
    } catch (const std::exception& error) {
      message = error.what();
    }
    _exit(write(channel[1], message.data(), message.size()) == ssize_t(message.size()) ? 0 : 1);
  }
  close(channel[1]);
  std::string message(4096, '\0');
  const ssize_t n = read(channel[0], message.data(), message.size());
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  message.resize(n > 0 ? size_t(n) : 0);
  return message;
}

TEST(FileWriter, NothingIsSeenBeforeCommitAndAllOfItAfter) {
  const TempDir dir;
  put_file(dir / "f", "old");
  {
    FileWriter file(dir / "f");
    file.write("new content");
    EXPECT_EQ(read_file(dir / "f"), "old");
  }
  EXPECT_EQ(read_file(dir / "f"), "old");
  EXPECT_EQ(files_in(dir), 1);
  FileWriter file(dir / "f");
  file.write("new ");
  file.write("content");
  file.commit();
  EXPECT_EQ(read_file(dir / "f"), "new content");
  EXPECT_EQ(files_in(dir), 1);
  EXPECT_ERROR(file.write("more"), "after commit");
}

TEST(FileWriter, AFullDiskIsAnErrorAndTheOldFileStays) {
  for (const bool ignore_signal : {true, false}) {
    SCOPED_TRACE(ignore_signal ? "SIGXFSZ ignored" : "SIGXFSZ as by default");
    const TempDir dir;
    put_file(dir / "w.safetensors", "old");
    const Tensor big = Tensor::zeros({1 << 16});
    const std::string message = error_under_size_limit(100000, ignore_signal, [&] {
      save_safetensors(dir / "w.safetensors", {{"w", big}});
    });
    EXPECT_NE(message.find("w.safetensors"), message.npos) << message;
    EXPECT_NE(message.find("File too large"), message.npos) << message;
    EXPECT_EQ(read_file(dir / "w.safetensors"), "old");
    EXPECT_EQ(files_in(dir), 1);
  }
}

TEST(FileWriter, TheSizeLimitsSignalIsNotDeliveredLater) {
  const TempDir dir;
  const std::string message = error_under_size_limit(10, false, [&] {
    EXPECT_THROW(write_file(dir / "f", std::string(100, 'x')), Error);
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGXFSZ)) throw std::runtime_error("still pending");
    write_file(dir / "f", "12345");
  });
  EXPECT_EQ(message, "no Error");
  EXPECT_EQ(read_file(dir / "f"), "12345");
}

TEST(FileWriter, ADeviceWithoutSpaceIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const TempDir dir;
  std::filesystem::create_symlink("/dev/full", dir / "f");
  EXPECT_ERROR(write_file(dir / "f", "x"), "/dev/full", "No space left");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(FileWriter, DevicesAndPipesAreWrittenInPlaceAndLinksAreFollowed) {
  const TempDir dir;
  write_file("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));

  put_file(dir / "target", "old");
  std::filesystem::create_symlink("target", dir / "link");
  write_file(dir / "link", "through the link");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_file(dir / "target"), "through the link");

  std::filesystem::create_symlink("none yet", dir / "dangling");
  write_file(dir / "dangling", "made");
  EXPECT_EQ(read_file(dir / "none yet"), "made");
}

TEST(FileWriter, AFileOfTheUsersBesideItStays) {
  const TempDir dir;
  put_file(dir / "f.tmp", "mine");
  write_file(dir / "f", "x");
  EXPECT_EQ(read_file(dir / "f.tmp"), "mine");
}

TEST(FileWriter, AFolderThatIsNotThereIsNamed) {
  const TempDir dir;
  EXPECT_ERROR(write_file(dir / "none" / "f", "x"), "none/f.tmp", "No such file");
  EXPECT_ERROR(sync_to_disk(dir / "none"), "none", "No such file");
}

}  // namespace
}  // namespace tare
