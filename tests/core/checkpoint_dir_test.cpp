// SPDX-License-Identifier: Apache-2.0
// A checkpoint is the previous one or the one being saved, whole, whatever happens during the save.
#include "tare/core/checkpoint_dir.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tare/core/file_writer.h"
#include "tare/core/parallel.h"
#include "tare/core/safetensors.h"

#include "tests/support/expect_error.h"
#include "tests/support/kill_at.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"

namespace tare {
namespace {

namespace fs = std::filesystem;
using test::put_file;
using test::read_file;
using test::TempDir;

// A small checkpoint in which every file tells its version; odd versions have a file more.
void save(const fs::path& dir, int version, FolderSwap swap = FolderSwap::exchange) {
  write_checkpoint(
      dir,
      [&](const fs::path& folder) {
        save_safetensors(folder / "model.safetensors", {{"w", Tensor::full({100}, version)}});
        put_file(folder / "state.json", std::to_string(version));
        fs::create_directory(folder / "more");
        if (version % 2) put_file(folder / "more" / "odd.txt", std::to_string(version));
      },
      swap);
}

// The version of a whole checkpoint; a failure when its files do not belong together.
int version_of(const fs::path& folder) {
  verify_checkpoint(folder);
  const int version = std::stoi(read_file(folder / "state.json"));
  const std::vector<int64_t> w =
      SafetensorsFile(folder / "model.safetensors").tensor("w").to_vector<int64_t>();
  EXPECT_EQ(w, std::vector<int64_t>(100, version));
  EXPECT_EQ(fs::exists(folder / "more" / "odd.txt"), version % 2 == 1);
  if (version % 2) {
    EXPECT_EQ(read_file(folder / "more" / "odd.txt"), std::to_string(version));
  }
  return version;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

class CheckpointDir : public testing::TestWithParam<FolderSwap> {
 protected:
  TempDir temp_;
  const fs::path dir_ = temp_ / "run";
};

INSTANTIATE_TEST_SUITE_P(Swaps, CheckpointDir, testing::Values(FolderSwap::exchange, FolderSwap::two_renames),
                         [](const auto& info) {
                           return info.param == FolderSwap::exchange ? "Exchange" : "TwoRenames";
                         });

TEST_P(CheckpointDir, ASaveReplacesTheWholeFolder) {
  for (int version = 1; version <= 4; ++version) {
    save(dir_, version, GetParam());
    EXPECT_EQ(version_of(dir_), version);
    EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"run"});
    EXPECT_EQ(names_in(dir_),
              (std::set<std::string>{"manifest.json", "model.safetensors", "more", "state.json"}));
  }
}

TEST_P(CheckpointDir, AKillAtAnyMomentLeavesThePreviousOrTheNextWhole) {
  set_num_threads(1);  // the child is a copy of this thread alone
  save(dir_, 1, GetParam());
  put_file(dir_ / "notes.txt", "mine");
  const auto whole = test::run_and_kill_at(-1, [&] { save(dir_, 2, GetParam()); });
  if (!whole) GTEST_SKIP() << "this system does not let a process trace its child";
  ASSERT_EQ(whole->exit_code, 0);
  ASSERT_EQ(version_of(dir_), 2);

  // A save that follows a killed one has what that left behind to remove and so stops more often.
  std::vector<int64_t> moments;
  for (int64_t stop = 0; stop < (test::all_cases() ? 4 : 1) * whole->stops; ++stop) moments.push_back(stop);
  if (!test::all_cases()) {
    std::shuffle(moments.begin(), moments.end(), std::mt19937_64(1337));
    moments.resize(std::min<size_t>(moments.size(), 20));
    // And around the swap, which is near the end.
    for (int64_t stop = whole->stops * 3 / 5; stop < whole->stops; stop += 5) moments.push_back(stop);
  }
  int next = 3;
  std::set<int> outcomes;
  for (const int64_t stop : moments) {
    SCOPED_TRACE("killed at stop " + std::to_string(stop));
    const int before = version_of(resolve_checkpoint(dir_));
    const auto run = test::run_and_kill_at(stop, [&] { save(dir_, next, GetParam()); });
    ASSERT_TRUE(run->killed || run->exit_code == 0);
    const int after = version_of(resolve_checkpoint(dir_));
    ASSERT_TRUE(after == before || after == next) << after;
    outcomes.insert(after - before);
    next = after + 1;
    if (test::all_cases() && !run->killed) break;
  }
  EXPECT_GE(outcomes.size(), 2u) << "no kill came before the swap, or none after it";
  save(dir_, next, GetParam());
  EXPECT_EQ(version_of(dir_), next);
  EXPECT_TRUE(fs::exists(dir_ / "notes.txt")) << "a file of the user's was lost";
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"run"}) << "a killed save left something behind";
}

TEST_P(CheckpointDir, AnErrorWhileSavingLeavesTheFolderAsItWas) {
  save(dir_, 1, GetParam());
  EXPECT_ERROR(write_checkpoint(
                   dir_,
                   [](const fs::path& folder) {
                     put_file(folder / "state.json", "half");
                     TARE_THROW("no more space");
                   },
                   GetParam()),
               "no more space");
  EXPECT_EQ(version_of(dir_), 1);
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"run"});
}

TEST_P(CheckpointDir, FilesOfTheUserStay) {
  save(dir_, 1, GetParam());
  put_file(dir_ / "notes.txt", "mine");
  fs::create_directory(dir_ / "logs");
  std::ofstream log(dir_ / "logs" / "log.jsonl");
  log << "one\n" << std::flush;
  fs::create_symlink("notes.txt", dir_ / "link");
  for (int version = 2; version <= 3; ++version) {
    save(dir_, version, GetParam());
    log << version << "\n" << std::flush;
  }
  EXPECT_EQ(version_of(dir_), 3);
  EXPECT_EQ(read_file(dir_ / "notes.txt"), "mine");
  EXPECT_EQ(read_file(dir_ / "logs" / "log.jsonl"), "one\n2\n3\n") << "the open file is another one now";
  EXPECT_TRUE(fs::is_symlink(dir_ / "link"));
}

TEST_P(CheckpointDir, AFolderThatIsNoCheckpointIsNotReplaced) {
  fs::create_directory(dir_);
  put_file(dir_ / "thesis.tex", "x");
  EXPECT_ERROR(save(dir_, 1, GetParam()), dir_.string(), "not a checkpoint");
  EXPECT_ERROR(check_checkpoint_target(dir_), dir_.string(), "not a checkpoint");
  EXPECT_ERROR(check_checkpoint_target(dir_ / "thesis.tex"), "thesis.tex", "not a folder");
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"run"});
  fs::remove(dir_ / "thesis.tex");
  save(dir_, 1, GetParam());
  EXPECT_EQ(version_of(dir_), 1);
}

TEST_P(CheckpointDir, AFolderBehindALinkIsReplacedInItsPlace) {
  fs::create_directory(temp_ / "disk");
  fs::create_directory_symlink(temp_ / "disk", dir_);
  for (int version = 1; version <= 2; ++version) save(dir_, version, GetParam());
  EXPECT_TRUE(fs::is_symlink(dir_));
  EXPECT_EQ(version_of(temp_ / "disk"), 2);
  EXPECT_EQ(names_in(temp_.path()), (std::set<std::string>{"disk", "run"}));
}

TEST_P(CheckpointDir, ParentsAreMadeAndATrailingSlashIsIgnored) {
  save(temp_ / "a" / "b" / "run" / "", 1, GetParam());
  save((temp_ / "a" / "b" / "run").string() + "/", 2, GetParam());
  EXPECT_EQ(version_of(temp_ / "a/b/run"), 2);
  EXPECT_EQ(names_in(temp_ / "a/b"), std::set<std::string>{"run"});
}

TEST_P(CheckpointDir, LeftoversOfDeadProcessesAreRemovedAndThoseOfLivingOnesKept) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  for (const std::string& suffix : {std::to_string(dead), std::to_string(getppid()), std::string("draft")})
    fs::create_directories(dir_.string() + ".tare-tmp-" + suffix);
  save(dir_, 1, GetParam());
  EXPECT_EQ(names_in(temp_.path()), (std::set<std::string>{"run", "run.tare-tmp-" + std::to_string(getppid()),
                                                           "run.tare-tmp-draft"}));
}

TEST(CheckpointFallback, ReadersFindTheOldFolderBetweenTheTwoRenames) {
  const TempDir temp;
  save(temp / "run", 1);
  write_file(temp / "run" / ".being_replaced", "");
  fs::rename(temp / "run", temp / "run.old");
  EXPECT_EQ(resolve_checkpoint(temp / "run"), temp / "run.old");
  EXPECT_EQ(version_of(resolve_checkpoint(temp / "run")), 1);
  save(temp / "run", 2);
  EXPECT_EQ(resolve_checkpoint(temp / "run"), temp / "run");
  EXPECT_EQ(names_in(temp.path()), std::set<std::string>{"run"});
}

TEST(CheckpointFallback, AnOldFolderOfTheUserIsNeitherReadNorRemoved) {
  const TempDir temp;
  save(temp / "run", 1);
  fs::rename(temp / "run", temp / "run.old");
  EXPECT_ERROR(resolve_checkpoint(temp / "run"), "run", "no such folder");
  save(temp / "run", 2);
  save(temp / "run", 3);
  EXPECT_EQ(version_of(temp / "run.old"), 1);
  EXPECT_ERROR(save(temp / "run", 4, FolderSwap::two_renames), "run.old", "in the way");
  EXPECT_EQ(version_of(temp / "run"), 3);
}

// In this process, renameat2 fails with `error` from now on. False when the system has no such filters.
bool refuse_renameat2(int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(CheckpointFallback, ASystemWithoutExchangeSavesByTwoRenames) {
  set_num_threads(1);
  for (const int error : {ENOSYS, EINVAL, EOPNOTSUPP}) {
    const TempDir temp;
    save(temp / "run", 1);
    const pid_t child = fork();
    if (child == 0) {
      if (!refuse_renameat2(error)) _exit(77);
      try {
        save(temp / "run", 2);
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no system-call filters here";
    EXPECT_EQ(status, 0);
    EXPECT_EQ(version_of(temp / "run"), 2);
    EXPECT_EQ(names_in(temp.path()), std::set<std::string>{"run"});
  }
}

TEST(CheckpointVerify, WhatIsMissingOrCutIsNamed) {
  const TempDir temp;
  save(temp / "run", 1);
  fs::resize_file(temp / "run" / "model.safetensors", 100);
  EXPECT_ERROR(verify_checkpoint(temp / "run"), "model.safetensors", "has 100 bytes");
  fs::remove(temp / "run" / "more" / "odd.txt");
  save(temp / "run2", 2);
  fs::remove(temp / "run2" / "state.json");
  EXPECT_ERROR(verify_checkpoint(temp / "run2"), "state.json", "No such file");
  EXPECT_ERROR(verify_checkpoint(temp.path()), "not a checkpoint", "manifest.json");
  EXPECT_ERROR(resolve_checkpoint(temp / "none"), "none", "no such folder");
  EXPECT_ERROR(resolve_checkpoint(temp / "run2" / "manifest.json"), "manifest.json", "not a folder");
  put_file(temp / "run" / "manifest.json", R"({"tare_checkpoint": 2, "files": {}})");
  EXPECT_ERROR(verify_checkpoint(temp / "run"), "version 2", "version 1");
}

}  // namespace
}  // namespace tare
