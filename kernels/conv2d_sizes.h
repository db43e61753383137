// SPDX-License-Identifier: Apache-2.0
// How a kernel moves over an image, and what sizes follow from that.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tare/core/shape.h"

namespace tare {

// One number per axis of an image; a single one stands for both.
struct Extent2d {
  int64_t h = 0, w = 0;

  Extent2d(int64_t both) : h(both), w(both) {}
  Extent2d(int64_t h, int64_t w) : h(h), w(w) {}
  bool operator==(const Extent2d&) const = default;
};

struct Conv2dOptions {
  Extent2d stride = 1;    // of the kernel over the image
  Extent2d padding = 0;   // zeros on each side of the image
  Extent2d dilation = 1;  // distance of the kernel's elements in the image
};

namespace kernels {

// Images (B, C, H, W) and kernels (O, C, KH, KW) give (B, O, OH, OW).
struct Conv2dSizes {
  int64_t B, C, H, W, O, KH, KW, OH, OW;
  Conv2dOptions options;

  Shape x() const { return {B, C, H, W}; }
  Shape w() const { return {O, C, KH, KW}; }
  Shape y() const { return {B, O, OH, OW}; }
  int64_t depth() const { return C * KH * KW; }  // of the sum behind each element of y
  int64_t positions() const { return OH * OW; }
  // Positions of one image that are worked on together: their columns, (depth, piece), stay in a core's
  // cache.
  int64_t piece() const {
    return std::min(positions(), std::max<int64_t>(64, (int64_t(1) << 18) / depth() / 16 * 16));
  }
};

// Error, in the name of `op`, unless x and w are of rank 4 and agree, and the kernel fits the padded image.
Conv2dSizes conv2d_sizes(const char* op, const Shape& x, const Shape& w, const Conv2dOptions& options);

}  // namespace kernels
}  // namespace tare
