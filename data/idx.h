// SPDX-License-Identifier: Apache-2.0
// IDX files, in which MNIST and its kin lie: two zero bytes, one for the type, one for the number of
// dimensions, each extent as 32 bits with the highest byte first, then the elements, row-major.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "tare/core/tensor.h"

namespace tare::data {

// The array of a file of unsigned bytes, plain or gzip whatever its name: u8, category data. Error that names
// file and fault: no IDX file, another type of elements, no or more than kMaxDims dimensions, fewer or more
// bytes than they need, gzip data that is damaged.
Tensor read_idx(const std::filesystem::path& path);
// The same from a whole file's bytes; `source` names them in errors.
Tensor parse_idx(std::span<const std::byte> bytes, const std::string& source);

}  // namespace tare::data
