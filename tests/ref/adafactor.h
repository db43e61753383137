// SPDX-License-Identifier: Apache-2.0
// Reference of Adafactor in f64, for one tensor of matrices (matrices, rows, cols), or of elements where
// rows is 0. Whole arrays, one quantity after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tare/kernels/adafactor.h"

namespace tare::ref {

struct AdafactorTensor {
  size_t rows = 0, cols = 0;  // of a matrix
  std::vector<double> p, row, col, moment;
};

// The estimated mean squares after these gradients, g scaled already.
inline std::vector<double> adafactor_variance(AdafactorTensor& t, const std::vector<double>& g,
                                              const kernels::AdafactorArgs& args, double gain) {
  std::vector<double> squares(g.size()), v(g.size());
  for (size_t i = 0; i < g.size(); ++i) squares[i] = g[i] * g[i] + (args.clamp_variance ? 0 : args.eps1);
  const double floor = args.clamp_variance ? args.eps1 * args.eps1 : 0;
  if (t.rows == 0) {
    for (size_t i = 0; i < g.size(); ++i) {
      t.row[i] += gain * (squares[i] - t.row[i]);
      v[i] = std::max(t.row[i], floor);
    }
    return v;
  }
  const size_t size = t.rows * t.cols;
  for (size_t m = 0; m < g.size() / size; ++m) {
    double mean = 0;
    for (size_t i = 0; i < t.rows; ++i) {
      double sum = 0;
      for (size_t j = 0; j < t.cols; ++j) sum += squares[m * size + i * t.cols + j];
      double& r = t.row[m * t.rows + i];
      r += gain * (sum / double(t.cols) - r);
      mean += r / double(t.rows);
    }
    if (args.clamp_variance) mean = std::max(mean, args.eps1);
    for (size_t j = 0; j < t.cols; ++j) {
      double sum = 0;
      for (size_t i = 0; i < t.rows; ++i) sum += squares[m * size + i * t.cols + j];
      double& c = t.col[m * t.cols + j];
      c += gain * (sum / double(t.rows) - c);
      for (size_t i = 0; i < t.rows; ++i)
        v[m * size + i * t.cols + j] = std::max(t.row[m * t.rows + i] * c / mean, floor);
    }
  }
  return v;
}

inline double mean_square(const std::vector<double>& x) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return sum / double(x.size());
}

// Step t, from 1.
inline void adafactor(AdafactorTensor& t, const std::vector<double>& g, const kernels::AdafactorArgs& args,
                      double lr, double weight_decay, double step) {
  using Rate = kernels::AdafactorRate;
  const std::vector<double> v = adafactor_variance(t, g, args, std::pow(step, args.decay_rate));
  std::vector<double> u(g.size());
  for (size_t i = 0; i < g.size(); ++i) u[i] = g[i] / std::sqrt(v[i]);
  const double root = 1 / std::sqrt(step);
  double alpha = args.rate == Rate::given      ? lr
                 : args.rate == Rate::relative ? lr * std::min(1e-2, root)
                 : args.rate == Rate::warmup   ? lr * std::min(1e-6 * step, root)
                                               : std::min(lr, root);
  if (args.scale_parameter) alpha *= std::max(args.eps2, std::sqrt(mean_square(t.p)));
  const double clipped = alpha / std::max(1.0, std::sqrt(mean_square(u)) / args.clip_threshold);
  const double decay = weight_decay * (args.decay_by_step ? alpha : lr);
  for (size_t i = 0; i < g.size(); ++i) {
    double move = clipped * u[i];
    if (args.beta1 != 0) move = t.moment[i] = args.beta1 * t.moment[i] + (1 - args.beta1) * move;
    t.p[i] += -decay * t.p[i] - move;
  }
}

}  // namespace tare::ref
