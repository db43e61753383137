// SPDX-License-Identifier: Apache-2.0
// A checkpoint is one folder, which is replaced as a whole: whoever reads it finds the previous save or this
// one, also after a kill or a power cut at any moment.
#pragma once

#include <filesystem>
#include <functional>

namespace tare {

// How the finished folder takes its place.
enum class FolderSwap {
  exchange,     // one renameat2(RENAME_EXCHANGE); where the system has none, as two_renames
  two_renames,  // DIR becomes DIR.old, then DIR.tare-tmp-PID becomes DIR; in between readers find DIR.old
};

// Calls fill(folder) on an empty folder DIR.tare-tmp-PID beside `dir`, adds manifest.json with every file's
// size, writes all of it to disk, and puts it in the place of `dir`, whose parents are made where missing.
// Then the replaced content is removed, but for files that no save had put there: they stay in `dir`, unless
// fill() wrote one of the same name. What a killed save left beside `dir` is removed first. An Error, from
// fill() too, leaves `dir` as it was. Saves of one process wait for each other.
void write_checkpoint(const std::filesystem::path& dir,
                      const std::function<void(const std::filesystem::path& folder)>& fill,
                      FolderSwap swap = FolderSwap::exchange);

// Error unless `dir` may be replaced (it does not exist, is empty, or was written by write_checkpoint()) and
// folders can be made beside it.
void check_checkpoint_target(const std::filesystem::path& dir);
bool is_checkpoint(const std::filesystem::path& dir);  // written by write_checkpoint()

// The folder to read for `dir`: itself, or DIR.old when a save was cut between its two renames; Error when
// there is neither. Any folder will do, also one that write_checkpoint() did not write.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& dir);

// Error that names the first file that `folder`'s manifest lists and that is missing or has another size, or
// says that there is no manifest.
void verify_checkpoint(const std::filesystem::path& folder);

}  // namespace tare
