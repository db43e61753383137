// SPDX-License-Identifier: Apache-2.0
// The memory ledger: every storage is charged to a device and one category, and the ledger knows what was
// alive at the peak. One Ledger per device; meta has one of its own, so a planned run and a real one compare.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tare/core/device.h"

namespace tare {

enum class Category : uint8_t {
  parameters,
  compute_copies,
  master_weights,
  gradients,
  optimizer_state,
  activations,
  temporaries,
  workspace,
  communication,
  data,
};
inline constexpr int kCategories = 10;
std::string_view name_of(Category category);

using CategoryBytes = std::array<int64_t, kCategories>;

// Bytes of one category that one place of the program held.
struct AliveBytes {
  std::string path;  // module path, "" at top level
  std::string op;
  Category category;
  int64_t bytes;
};

struct LedgerReport {
  int64_t total = 0;                      // bytes asked for, now
  int64_t peak_total = 0;                 // greatest total since reset_peaks()
  CategoryBytes current{};                // now
  CategoryBytes at_peak{};                // the breakdown when the total was greatest
  CategoryBytes own_peak{};               // each category's own greatest
  std::vector<AliveBytes> alive_at_peak;  // greatest first
};

// Thread-safe. Rules: a temporary becomes an activation when the tape saves it; parameters and data never
// change; views and shared saves count once, since the charge belongs to the storage.
class Ledger {
 public:
  // What a storage holds: where it was allocated, under which category. Released by the storage.
  struct Charge {
    int64_t bytes = 0;
    Category category = Category::temporaries;
    uint32_t label = 0;
  };

  Charge charge(int64_t bytes, Category category);  // labelled with current_path() and current_op()
  void release(const Charge& charge);
  void move(Charge& charge, Category to);

  LedgerReport report() const;
  CategoryBytes current() const;
  int64_t total() const;
  int64_t peak_total() const;
  void reset_peaks();  // peaks start again from what is alive now

 private:
  struct Label {
    std::string path;
    const char* op;
    Category category;
  };
  struct LabelKey {
    uint64_t path_hash;
    const char* op;
    Category category;
    bool operator==(const LabelKey&) const = default;
  };
  struct LabelHash {
    size_t operator()(const LabelKey& key) const;
  };

  uint32_t intern(const std::string& path, uint64_t path_hash, const char* op, Category category);
  void add(uint32_t label, Category category, int64_t bytes);
  void subtract(uint32_t label, Category category, int64_t bytes);
  void snapshot_if_at_peak();

  mutable std::mutex mutex_;
  std::unordered_map<LabelKey, uint32_t, LabelHash> label_index_;
  std::vector<Label> labels_;
  std::vector<int64_t> alive_;  // by label
  mutable std::vector<int64_t> alive_at_peak_;
  int64_t total_ = 0, peak_total_ = 0;
  CategoryBytes current_{}, at_peak_{}, own_peak_{};
  mutable bool at_peak_now_ = true;  // total_ is the peak and alive_at_peak_ is not yet copied
};

// The ledger of a device; lives as long as the process.
Ledger& ledger(Device device);

// While it lives, new tensors of the calling thread are charged to this category unless they name one.
class CategoryScope {
 public:
  explicit CategoryScope(Category category);
  ~CategoryScope();
  CategoryScope(const CategoryScope&) = delete;
  CategoryScope& operator=(const CategoryScope&) = delete;

 private:
  Category old_;
};
Category current_category();

}  // namespace tare
