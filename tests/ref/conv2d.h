// SPDX-License-Identifier: Apache-2.0
// Reference convolution of images and its gradients: every product that the definition names, one by one.
#pragma once

#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

struct Conv2d {
  int64_t B, C, H, W, O, KH, KW;
  int64_t stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, dilation_h = 1, dilation_w = 1;

  int64_t OH() const { return (H + 2 * padding_h - dilation_h * (KH - 1) - 1) / stride_h + 1; }
  int64_t OW() const { return (W + 2 * padding_w - dilation_w * (KW - 1) - 1) / stride_w + 1; }
};

// f(index of y, index of x, index of w) for every product of an element of x and one of w.
template <typename F> void for_each_product(const Conv2d& p, F&& f) {
  const Shape ys{p.B, p.O, p.OH(), p.OW()}, xs{p.B, p.C, p.H, p.W}, ws{p.O, p.C, p.KH, p.KW};
  for (int64_t j = 0; j < numel(ys); ++j) {
    const Shape at = unravel(j, ys);
    for (int64_t k = 0; k < p.C * p.KH * p.KW; ++k) {
      const Shape in = unravel(k, {p.C, p.KH, p.KW});
      const int64_t row = at[2] * p.stride_h - p.padding_h + in[1] * p.dilation_h;
      const int64_t column = at[3] * p.stride_w - p.padding_w + in[2] * p.dilation_w;
      if (row < 0 || row >= p.H || column < 0 || column >= p.W) continue;
      f(size_t(j), size_t(ravel({at[0], in[0], row, column}, xs)),
        size_t(ravel({at[1], in[0], in[1], in[2]}, ws)));
    }
  }
}

// y (B, O, OH, OW) of x (B, C, H, W), w (O, C, KH, KW), bias (O) or empty.
template <typename T>
std::vector<T> conv2d_forward(const Conv2d& p, const std::vector<T>& x, const std::vector<T>& w,
                              const std::vector<T>& bias) {
  std::vector<T> y(size_t(p.B * p.O * p.OH() * p.OW()), T(0));
  for_each_product(p, [&](size_t j, size_t i, size_t k) { y[j] += x[i] * w[k]; });
  for (size_t j = 0; j < y.size() && !bias.empty(); ++j)
    y[j] += bias[j / size_t(p.OH() * p.OW()) % size_t(p.O)];
  return y;
}

template <typename T>
std::vector<T> conv2d_backward_input(const Conv2d& p, const std::vector<T>& dy, const std::vector<T>& w) {
  std::vector<T> dx(size_t(p.B * p.C * p.H * p.W), T(0));
  for_each_product(p, [&](size_t j, size_t i, size_t k) { dx[i] += dy[j] * w[k]; });
  return dx;
}

template <typename T>
std::vector<T> conv2d_backward_weight(const Conv2d& p, const std::vector<T>& dy, const std::vector<T>& x) {
  std::vector<T> dw(size_t(p.O * p.C * p.KH * p.KW), T(0));
  for_each_product(p, [&](size_t j, size_t i, size_t k) { dw[k] += dy[j] * x[i]; });
  return dw;
}

}  // namespace tare::ref
