// SPDX-License-Identifier: Apache-2.0
// Reference LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019) over the last axis of x (rows, C).
#pragma once

#include <cmath>
#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

template <typename T> struct Norm {
  std::vector<T> y;           // (rows, C)
  std::vector<T> mean, rstd;  // (rows); RMSNorm leaves mean empty
};

template <typename T> struct NormGrad {
  std::vector<T> dx;              // (rows, C)
  std::vector<T> dweight, dbias;  // (C); RMSNorm leaves dbias empty
};

// y = (x - mean) / sqrt(var + eps) * weight + bias, var over C (biased). Empty weight = 1, empty bias = 0.
template <typename T>
Norm<T> layer_norm_forward(const std::vector<T>& x, const std::vector<T>& weight, const std::vector<T>& bias,
                           int64_t rows, int64_t C, double eps) {
  using std::sqrt;
  Norm<T> out{std::vector<T>(x.size()), std::vector<T>(rows), std::vector<T>(rows)};
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x.data() + r * C;
    T mean = T(0), var = T(0);
    for (int64_t c = 0; c < C; ++c) mean += row[c];
    mean /= T(static_cast<double>(C));
    for (int64_t c = 0; c < C; ++c) var += (row[c] - mean) * (row[c] - mean);
    var /= T(static_cast<double>(C));
    out.mean[r] = mean;
    out.rstd[r] = T(1) / sqrt(var + T(eps));
    for (int64_t c = 0; c < C; ++c) {
      const T hat = (row[c] - mean) * out.rstd[r];
      out.y[r * C + c] = hat * (weight.empty() ? T(1) : weight[c]) + (bias.empty() ? T(0) : bias[c]);
    }
  }
  return out;
}

// With g = dy * weight and h = (x - mean) * rstd: dx = rstd (g - mean(g) - h mean(g h)).
template <typename T>
NormGrad<T> layer_norm_backward(const std::vector<T>& x, const std::vector<T>& weight,
                                const std::vector<T>& dy, int64_t rows, int64_t C, double eps) {
  const Norm<T> f = layer_norm_forward(x, weight, std::vector<T>(), rows, C, eps);
  NormGrad<T> out{std::vector<T>(x.size()), std::vector<T>(C, T(0)), std::vector<T>(C, T(0))};
  for (int64_t r = 0; r < rows; ++r) {
    T mean_g = T(0), mean_gh = T(0);
    std::vector<T> g(C), h(C);
    for (int64_t c = 0; c < C; ++c) {
      g[c] = dy[r * C + c] * (weight.empty() ? T(1) : weight[c]);
      h[c] = (x[r * C + c] - f.mean[r]) * f.rstd[r];
      mean_g += g[c] / T(static_cast<double>(C));
      mean_gh += g[c] * h[c] / T(static_cast<double>(C));
      out.dweight[c] += dy[r * C + c] * h[c];
      out.dbias[c] += dy[r * C + c];
    }
    for (int64_t c = 0; c < C; ++c) out.dx[r * C + c] = f.rstd[r] * (g[c] - mean_g - h[c] * mean_gh);
  }
  return out;
}

// y = x / sqrt(mean(x^2) + eps) * weight. Empty weight = 1.
template <typename T>
Norm<T> rms_norm_forward(const std::vector<T>& x, const std::vector<T>& weight, int64_t rows, int64_t C,
                         double eps) {
  using std::sqrt;
  Norm<T> out{std::vector<T>(x.size()), {}, std::vector<T>(rows)};
  for (int64_t r = 0; r < rows; ++r) {
    T square = T(0);
    for (int64_t c = 0; c < C; ++c) square += x[r * C + c] * x[r * C + c];
    out.rstd[r] = T(1) / sqrt(square / T(static_cast<double>(C)) + T(eps));
    for (int64_t c = 0; c < C; ++c) {
      out.y[r * C + c] = x[r * C + c] * out.rstd[r] * (weight.empty() ? T(1) : weight[c]);
    }
  }
  return out;
}

// With g = dy * weight: dx = rstd g - x rstd^3 mean(g x).
template <typename T>
NormGrad<T> rms_norm_backward(const std::vector<T>& x, const std::vector<T>& weight, const std::vector<T>& dy,
                              int64_t rows, int64_t C, double eps) {
  const Norm<T> f = rms_norm_forward(x, weight, rows, C, eps);
  NormGrad<T> out{std::vector<T>(x.size()), std::vector<T>(C, T(0)), {}};
  for (int64_t r = 0; r < rows; ++r) {
    const T rstd = f.rstd[r];
    T mean_gx = T(0);
    for (int64_t c = 0; c < C; ++c) {
      const T g = dy[r * C + c] * (weight.empty() ? T(1) : weight[c]);
      mean_gx += g * x[r * C + c] / T(static_cast<double>(C));
      out.dweight[c] += dy[r * C + c] * x[r * C + c] * rstd;
    }
    for (int64_t c = 0; c < C; ++c) {
      const T g = dy[r * C + c] * (weight.empty() ? T(1) : weight[c]);
      out.dx[r * C + c] = rstd * g - x[r * C + c] * rstd * rstd * rstd * mean_gx;
    }
  }
  return out;
}

}  // namespace tare::ref
