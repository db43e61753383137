// SPDX-License-Identifier: Apache-2.0
// How a sum over rows is cut into pieces: by the number of rows alone, so that results depend neither on
// threads nor on the device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tare/core/half.h"

namespace tare::kernels {

struct RowPieces {
  int64_t rows;
  int64_t count;  // 0 for no rows; else between 1 and 128, each piece but for short inputs of 32 rows or more

  TARE_HD int64_t begin(int64_t piece) const { return rows * piece / count; }
  TARE_HD int64_t end(int64_t piece) const { return rows * (piece + 1) / count; }
};

inline RowPieces row_pieces(int64_t rows) { return {rows, std::min<int64_t>(128, (rows + 31) / 32)}; }

}  // namespace tare::kernels
