// SPDX-License-Identifier: Apache-2.0
// Reference updates of one tensor: AdamW (Loshchilov & Hutter 2019, decay before the update) and SGD with
// momentum and Nesterov (Sutskever et al. 2013), both in PyTorch's order; and clipping by the global norm.
#pragma once

#include <cmath>
#include <vector>

#include "tests/ref/shape.h"

namespace tare::ref {

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
};

// step counts from 1. g is the gradient after scaling and clipping.
template <typename T>
void adamw(std::vector<T>& p, std::vector<T>& m, std::vector<T>& v, const std::vector<T>& g, int64_t step,
           const AdamWOptions& o) {
  using std::sqrt;
  const double correction1 = 1 - std::pow(o.beta1, static_cast<double>(step));
  const double correction2 = 1 - std::pow(o.beta2, static_cast<double>(step));
  for (size_t i = 0; i < p.size(); ++i) {
    p[i] -= T(o.lr * o.weight_decay) * p[i];
    m[i] = T(o.beta1) * m[i] + T(1 - o.beta1) * g[i];
    v[i] = T(o.beta2) * v[i] + T(1 - o.beta2) * g[i] * g[i];
    p[i] -= T(o.lr) * (m[i] / T(correction1)) / (sqrt(v[i] / T(correction2)) + T(o.eps));
  }
}

struct SgdOptions {
  double lr = 1e-2, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};

// step counts from 1; the first one sets the buffer to the gradient, without dampening.
template <typename T>
void sgd(std::vector<T>& p, std::vector<T>& buffer, const std::vector<T>& g, int64_t step,
         const SgdOptions& o) {
  for (size_t i = 0; i < p.size(); ++i) {
    T d = g[i] + T(o.weight_decay) * p[i];
    if (o.momentum != 0) {
      buffer[i] = step == 1 ? d : T(o.momentum) * buffer[i] + T(1 - o.dampening) * d;
      d = o.nesterov ? d + T(o.momentum) * buffer[i] : buffer[i];
    }
    p[i] -= T(o.lr) * d;
  }
}

template <typename T> T global_norm(const std::vector<std::vector<T>>& grads) {
  using std::sqrt;
  T total = T(0);
  for (const std::vector<T>& g : grads) {
    for (const T& x : g) total += x * x;
  }
  return sqrt(total);
}

// The factor on every gradient: min(1, max_norm / (norm + 1e-6)).
inline double clip_factor(double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  return factor < 1 ? factor : 1;
}

}  // namespace tare::ref
