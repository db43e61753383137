// SPDX-License-Identifier: Apache-2.0
#include "tare/core/checkpoint_dir.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tare/core/error.h"
#include "tare/core/file_writer.h"
#include "tare/core/json.h"

namespace tare {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest.json";
constexpr char kManifestKey[] = "tare_checkpoint";  // its value is the version of the layout
constexpr char kTemporary[] = ".tare-tmp-";         // DIR.tare-tmp-PID: a name that no user gives
constexpr char kReplacedMark[] =
    ".being_replaced";  // tells a DIR.old of an unfinished save from one of the user's

fs::path with_suffix(fs::path path, const std::string& suffix) { return path += suffix; }

// Without a trailing slash, "." or symbolic links, so that what stands beside it is found and renames reach
// the folder itself.
fs::path plain_path(const fs::path& dir) {
  TARE_CHECK(!dir.empty(), "checkpoint: the folder's name is empty");
  TARE_CHECK(!fs::is_symlink(dir) || fs::exists(dir), dir.string(), ": is a link to nothing");
  fs::path plain = fs::weakly_canonical(fs::absolute(dir));
  if (!plain.has_filename()) plain = plain.parent_path();
  TARE_CHECK(plain.has_filename(), dir.string(), ": cannot be a checkpoint");
  return plain;
}

void rename_folder(const fs::path& from, const fs::path& to) {
  TARE_CHECK(::rename(from.c_str(), to.c_str()) == 0, to.string(), ": cannot rename ", from.string(),
             " to it: ", system_reason(errno));
}

// False where the system or the file system cannot exchange.
bool exchange_folders(const fs::path& a, const fs::path& b) {
#ifdef SYS_renameat2
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE of <linux/fs.h>
  if (syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), kExchange) == 0) return true;
  TARE_CHECK(errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP, b.string(),
             ": cannot exchange it with ", a.string(), ": ", system_reason(errno));
#endif
  return false;
}

bool is_ours(const fs::path& folder) {
  const fs::path manifest = folder / kManifest;
  if (!fs::exists(manifest)) return false;
  const Json json = Json::parse_file(manifest);
  return json.is_object() && json.find(kManifestKey);
}

// Files of the folder, relative to it; those that the save itself keeps are left out.
std::set<fs::path> files_of(const fs::path& folder) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory() || entry.is_symlink()) files.insert(entry.path().lexically_relative(folder));
  files.erase(kManifest);
  files.erase(kReplacedMark);
  return files;
}

void write_manifest(const fs::path& folder) {
  Json files = Json::object();
  for (const fs::path& file : files_of(folder))
    files.set(file.generic_string(), Json::object({{"bytes", fs::file_size(folder / file)}}));
  write_file(folder / kManifest, Json::object({{kManifestKey, 1}, {"files", files}}).dump(2) + "\n");
}

// Calls place(file) for the files of `from` that its manifest does not list and `to` does not have.
template <class Place> void for_foreign_files(const fs::path& from, const fs::path& to, Place place) {
  if (!is_ours(from)) return;  // empty
  const Json manifest = Json::parse_file(from / kManifest);
  const Json& own = manifest.at("files");
  for (const fs::path& file : files_of(from)) {
    if (own.find(file.generic_string()) || fs::exists(fs::symlink_status(to / file))) continue;
    fs::create_directories((to / file).parent_path());
    place(from / file, to / file);
  }
}

// So that they are in the folder from its first moment on.
void link_foreign_files(const fs::path& from, const fs::path& to) {
  for_foreign_files(from, to, [](const fs::path& old_place, const fs::path& place) {
    std::error_code left_to_move_foreign_files;  // not every file system has hard links
    fs::create_hard_link(old_place, place, left_to_move_foreign_files);
  });
}

// Those that could not be linked, or were made while the disk was written.
void move_foreign_files(const fs::path& from, const fs::path& to) {
  for_foreign_files(from, to,
                    [](const fs::path& old_place, const fs::path& place) { fs::rename(old_place, place); });
}

void sync_tree(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory() || entry.is_regular_file()) sync_to_disk(entry.path());
  sync_to_disk(folder);
}

bool is_running(pid_t process) { return kill(process, 0) == 0 || errno != ESRCH; }

// Removes DIR.tare-tmp-PID of processes that are gone, and of this one, whose saves do not overlap.
void remove_stale(const fs::path& dir) {
  const std::string prefix = dir.filename().string() + kTemporary;
  std::set<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(dir.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !entry.is_directory()) continue;
    pid_t process = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, process);
    if (error == std::errc() && rest == end && process > 0 && (process == getpid() || !is_running(process)))
      stale.insert(entry.path());
  }
  for (const fs::path& folder : stale) {
    if (fs::exists(dir)) move_foreign_files(folder, dir);  // a kill came between the swap and their move
    fs::remove_all(folder);
  }
}

// The folder that a save by two renames left behind, when it was killed; what the user had in it goes to
// `dir`.
void remove_replaced(const fs::path& old, const fs::path& dir) {
  if (!fs::exists(old / kReplacedMark)) return;
  move_foreign_files(old, dir);
  fs::remove_all(old);
}

void swap_by_two_renames(const fs::path& folder, const fs::path& dir) {
  const fs::path old = with_suffix(dir, ".old");
  TARE_CHECK(!fs::exists(old), old.string(), ": is in the way of replacing ", dir.string(),
             ", and no save left it there; move it elsewhere");
  // Not by write_file(): a kill would leave its temporary among the user's files. An empty file is never
  // half.
  TARE_CHECK(std::ofstream(dir / kReplacedMark).good(), (dir / kReplacedMark).string(),
             ": cannot be written");
  sync_to_disk(dir);
  rename_folder(dir, old);
  try {
    rename_folder(folder, dir);
  } catch (const Error&) {
    rename_folder(old, dir);
    throw;
  }
  rename_folder(old, folder);  // the caller removes what was replaced
}

void put_in_place(const fs::path& folder, const fs::path& dir, FolderSwap swap) {
  const bool replaces = fs::exists(dir);
  if (replaces) {
    remove_replaced(with_suffix(dir, ".old"), dir);
    link_foreign_files(dir, folder);
    fs::permissions(folder, fs::status(dir).permissions());
  }
  sync_tree(folder);
  if (!replaces)
    rename_folder(folder, dir);
  else if (swap == FolderSwap::two_renames || !exchange_folders(folder, dir))
    swap_by_two_renames(folder, dir);
}

void check_replaceable(const fs::path& dir) {
  if (!fs::exists(fs::symlink_status(dir))) return;
  TARE_CHECK(fs::is_directory(dir), dir.string(), ": is not a folder, so no checkpoint can take its place");
  TARE_CHECK(fs::is_empty(dir) || is_ours(dir), dir.string(),
             ": holds files that are not a checkpoint of Tare's; saving would replace the folder as a whole");
}

void fill_and_place(const fs::path& dir, const std::function<void(const fs::path&)>& fill, FolderSwap swap) {
  fs::create_directories(dir.parent_path());
  check_replaceable(dir);
  remove_stale(dir);
  const fs::path folder = with_suffix(dir, kTemporary + std::to_string(getpid()));
  try {
    fs::create_directory(folder);
    fill(folder);
    write_manifest(folder);
    put_in_place(folder, dir, swap);
  } catch (...) {
    std::error_code ignored;  // the cause is on its way already
    fs::remove_all(folder, ignored);
    throw;
  }
  sync_to_disk(dir.parent_path());
  if (fs::exists(folder)) move_foreign_files(folder, dir);
  // What cannot be removed now is stale, and stops the next save with its reason.
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  remove_replaced(with_suffix(dir, ".old"), dir);
}

// The file system's own exceptions become Errors that say which folder it was about.
template <class F> auto with_errors_about(const fs::path& dir, F f) {
  try {
    return f();
  } catch (const fs::filesystem_error& error) {
    TARE_THROW(dir.string(), ": ", error.what());
  }
}

}  // namespace

void write_checkpoint(const fs::path& dir, const std::function<void(const fs::path&)>& fill,
                      FolderSwap swap) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  with_errors_about(dir, [&] { fill_and_place(plain_path(dir), fill, swap); });
}

void check_checkpoint_target(const fs::path& dir) {
  with_errors_about(dir, [&] {
    check_replaceable(dir);
    const fs::path place = plain_path(dir), probe = with_suffix(place, kTemporary + std::to_string(getpid()));
    fs::create_directories(place.parent_path());
    if (fs::create_directory(probe)) fs::remove(probe);
  });
}

bool is_checkpoint(const fs::path& dir) { return fs::is_directory(dir) && is_ours(dir); }

fs::path resolve_checkpoint(const fs::path& dir) {
  return with_errors_about(dir, [&]() -> fs::path {
    if (!fs::exists(dir)) {
      fs::path old = with_suffix(plain_path(dir), ".old");
      TARE_CHECK(fs::exists(old / kReplacedMark), dir.string(), ": there is no such folder");
      return old;
    }
    TARE_CHECK(fs::is_directory(dir), dir.string(), ": is not a folder");
    return dir;
  });
}

void verify_checkpoint(const fs::path& folder) {
  const fs::path path = folder / kManifest;
  TARE_CHECK(fs::exists(path), folder.string(), ": is not a checkpoint: it has no ", kManifest);
  const Json manifest = Json::parse_file(path);
  TARE_CHECK(manifest.at(kManifestKey).as_int() == 1, path.string(), ": has version ",
             manifest.at(kManifestKey).as_int(), " of the layout; this Tare reads version 1");
  for (const auto& [name, file] : manifest.at("files").members()) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(folder / name, error);
    TARE_CHECK(!error, (folder / name).string(), ": ", error.message());
    TARE_CHECK(bytes == file.at("bytes").as_uint(), (folder / name).string(), ": has ", bytes,
               " bytes; it was saved with ", file.at("bytes").as_uint());
  }
}

}  // namespace tare
