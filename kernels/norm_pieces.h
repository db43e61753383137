// SPDX-License-Identifier: Apache-2.0
// How a norm is cut: each tensor into pieces of one size, so that the sum does not depend on threads.
#pragma once

#include <cstdint>

namespace tare::kernels {

inline constexpr int64_t kNormPiece = 1 << 16;  // elements: 256 KiB of f32, a few per thread and tensor
constexpr int64_t norm_pieces(int64_t numel) { return (numel + kNormPiece - 1) / kNormPiece; }

}  // namespace tare::kernels
