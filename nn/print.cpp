// SPDX-License-Identifier: Apache-2.0
// Module::print_tree: one line per module, equal siblings in a row joined.
#include <algorithm>
#include <iomanip>
#include <ostream>

#include "tare/nn/module.h"

namespace tare::nn {

struct Module::TreeRow {
  int depth;
  std::string name, description;
  int64_t parameters, bytes;
  int copies = 1;

  bool same_but_name(const TreeRow& o) const {
    return depth == o.depth && description == o.description && parameters == o.parameters &&
           bytes == o.bytes && copies == o.copies;
  }
  std::string text() const {
    std::string s(size_t(depth) * 2, ' ');
    if (!name.empty()) s += name + ": ";
    if (copies > 1) s += std::to_string(copies) + " x ";
    return s + description;
  }
};

std::vector<Module::TreeRow> Module::tree_rows(const std::string& label, int depth) const {
  const Footprint f = footprint();
  std::vector<TreeRow> rows{{depth, label, describe(), f.parameters, f.parameter_bytes}};
  // The rows of the last sibling printed, to which the next one is compared.
  size_t last = 0, last_size = 0;
  for (const Module* child : children_) {
    const std::vector<TreeRow> below = child->tree_rows(child->name_, depth + 1);
    const auto equal = [&] {
      if (last_size != below.size()) return false;
      TreeRow head = rows[last];
      head.copies = 1;
      if (!head.same_but_name(below[0])) return false;
      for (size_t i = 1; i < below.size(); ++i)
        if (!rows[last + i].same_but_name(below[i]) || rows[last + i].name != below[i].name) return false;
      return true;
    };
    if (below.size() > 1 && equal()) {
      TreeRow& head = rows[last];
      ++head.copies;
      head.name = head.name.substr(0, head.name.find(" to ")) + " to " + child->name_;
      continue;
    }
    last = rows.size();
    last_size = below.size();
    rows.insert(rows.end(), below.begin(), below.end());
  }
  return rows;
}

void Module::print_tree(std::ostream& os) const {
  const std::vector<TreeRow> rows = tree_rows(name_, 0);
  size_t width = 0;
  for (const TreeRow& row : rows) width = std::max(width, row.text().size());
  for (const TreeRow& row : rows)
    os << std::left << std::setw(int(width)) << row.text() << std::right << std::setw(14) << row.parameters
       << " parameters" << std::setw(16) << row.bytes << " bytes" << (row.copies > 1 ? " each" : "") << "\n";
}

}  // namespace tare::nn
