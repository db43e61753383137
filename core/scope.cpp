// SPDX-License-Identifier: Apache-2.0
#include "tare/core/scope.h"

#include <utility>

#include "tare/core/hash.h"

namespace tare {
namespace {

thread_local std::string path;
thread_local uint64_t path_hash = kFnvBasis;
thread_local const char* op = "";

}  // namespace

PathScope::PathScope(std::string_view name) : old_length_(path.size()), old_hash_(path_hash) {
  if (!path.empty()) path += '.';
  path += name;
  path_hash = fnv1a(kFnvBasis, path);
}

PathScope::~PathScope() {
  path.resize(old_length_);
  path_hash = old_hash_;
}

RestoredPathScope::RestoredPathScope(std::string restored)
    : old_path_(std::move(path)), old_hash_(path_hash) {
  path = std::move(restored);
  path_hash = fnv1a(kFnvBasis, path);
}

RestoredPathScope::~RestoredPathScope() {
  path = std::move(old_path_);
  path_hash = old_hash_;
}

OpScope::OpScope(const char* name) : old_(std::exchange(op, name)) {}
OpScope::~OpScope() { op = old_; }

const std::string& current_path() { return path; }
uint64_t current_path_hash() { return path_hash; }
const char* current_op() { return op; }

}  // namespace tare
