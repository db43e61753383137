// SPDX-License-Identifier: Apache-2.0
// The scalar updates of the optimizers, for host and device.
#pragma once

#include <cmath>
#include <cstdint>

#include "tare/core/half.h"

namespace tare::math {

// What all elements of one tensor share in one AdamW update, in the accumulation type A. Bias corrections are
// folded:
//   p = decay p - step_size m / (sqrt(v) + eps_hat),  step_size = lr sqrt(c2) / c1,  eps_hat = eps sqrt(c2),
// with c1 = 1 - beta1^t, c2 = 1 - beta2^t: equal to m_hat / (sqrt(v_hat) + eps) of the papers.
template <class A> struct AdamScalars {
  A beta1, beta2, gain1, gain2;  // gain = 1 - beta
  A grad_scale;                  // clip coefficient over loss scale
  A decay;  // 1 - lr * weight_decay, applied to the old p (Loshchilov and Hutter, alg. 2, as torch)
  A step_size, eps_hat;
};

template <class A>
TARE_HD AdamScalars<A> adam_scalars(double beta1, double beta2, double eps, double lr, double weight_decay,
                                    double grad_scale, int64_t step) {
  const double c1 = 1 - pow(beta1, double(step)), c2 = sqrt(1 - pow(beta2, double(step)));
  return {A(beta1),        A(beta2),   A(1 - beta1), A(1 - beta2), A(grad_scale), A(1 - lr * weight_decay),
          A(lr * c2 / c1), A(eps * c2)};
}

// Kingma and Ba, "Adam", algorithm 1.
template <class A> TARE_HD void adam_update(A& p, A g, A& m, A& v, const AdamScalars<A>& s) {
  g *= s.grad_scale;
  m = s.beta1 * m + s.gain1 * g;
  v = s.beta2 * v + s.gain2 * (g * g);
  p = s.decay * p - s.step_size * m / (std::sqrt(v) + s.eps_hat);
}

template <class A> struct SgdScalars {
  A lr, momentum, gain;  // gain = 1 - dampening, or 1 in a tensor's first step
  A weight_decay, grad_scale;
  A carried;  // momentum, or 0 in a tensor's first step: the buffer begins as the gradient
};

// torch.optim.SGD: L2 decay joins the gradient; buf = momentum buf + (1 - dampening) g.
template <bool kMomentum, bool kNesterov, class A>
TARE_HD void sgd_update(A& p, A g, A& buf, const SgdScalars<A>& s) {
  g = g * s.grad_scale + s.weight_decay * p;
  if constexpr (kMomentum) {
    buf = s.carried * buf + s.gain * g;
    g = kNesterov ? g + s.momentum * buf : buf;
  }
  p -= s.lr * g;
}

}  // namespace tare::math
