// SPDX-License-Identifier: Apache-2.0
// Reference scaled dot-product attention (Vaswani et al. 2017) and its gradients, with the whole T x T
// matrix.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "tests/ref/matmul.h"
#include "tests/ref/softmax.h"

namespace tare::ref {

// q (B, H, T, D); k, v (B, H, S, D), dense. Query t sees key s when s < S, key_mask[b, s] is set (an empty
// mask sets all), and, if causal, s <= t + S - T: the last query sees the last key.
struct AttentionShape {
  int64_t B, H, T, S, D;
  bool causal = false;
  double scale = 0;  // 0 stands for 1 / sqrt(D)
};

template <typename T> struct Attention {
  std::vector<T> y;  // (B, H, T, D)
  std::vector<T>
      lse;  // (B, H, T): log of the sum of exp(score); -inf for a query that sees no key, whose y is 0
  std::vector<T> p;  // (B, H, T, S): probabilities before dropout
};

template <typename T> struct AttentionGrad { std::vector<T> dq, dk, dv; };

inline bool sees(const AttentionShape& s, const std::vector<uint8_t>& key_mask, int64_t b, int64_t t,
                 int64_t key) {
  if (!key_mask.empty() && key_mask[b * s.S + key] == 0) return false;
  return !s.causal || key <= t + s.S - s.T;
}

// keep (B, H, T, S): factor on each probability, 0 or 1 / (1 - p_drop); empty = no dropout.
template <typename T>
Attention<T> attention_forward(const std::vector<T>& q, const std::vector<T>& k, const std::vector<T>& v,
                               const AttentionShape& s, const std::vector<uint8_t>& key_mask = {},
                               const std::vector<T>& keep = {}) {
  const double scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(s.D));
  const int64_t rows = s.B * s.H * s.T;
  Attention<T> out{std::vector<T>(rows * s.D, T(0)), std::vector<T>(rows), std::vector<T>(rows * s.S, T(0))};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t bh = row / s.T, b = bh / s.H, t = row % s.T;
    std::vector<T> score(s.S, T(-std::numeric_limits<double>::infinity()));
    for (int64_t key = 0; key < s.S; ++key) {
      if (!sees(s, key_mask, b, t, key)) continue;
      score[key] = T(0);
      for (int64_t d = 0; d < s.D; ++d)
        score[key] += q[row * s.D + d] * k[(bh * s.S + key) * s.D + d] * T(scale);
    }
    out.lse[row] = s.S == 0 ? T(-std::numeric_limits<double>::infinity()) : log_sum_exp(score.data(), s.S);
    const std::vector<T> probability = softmax_forward(score, 1, s.S);
    for (int64_t key = 0; key < s.S; ++key) {
      if (!sees(s, key_mask, b, t, key)) continue;
      const T p = probability[key];
      out.p[row * s.S + key] = p;
      const T weight = keep.empty() ? p : p * keep[row * s.S + key];
      for (int64_t d = 0; d < s.D; ++d) out.y[row * s.D + d] += weight * v[(bh * s.S + key) * s.D + d];
    }
  }
  return out;
}

// dP = keep * (dy v^T); dS = P * (dP - rowsum(P dP)); dq = scale dS k; dk = scale dS^T q; dv = (P keep)^T dy.
template <typename T>
AttentionGrad<T> attention_backward(const std::vector<T>& q, const std::vector<T>& k, const std::vector<T>& v,
                                    const std::vector<T>& dy, const AttentionShape& s,
                                    const std::vector<uint8_t>& key_mask = {},
                                    const std::vector<T>& keep = {}) {
  const double scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(s.D));
  const Attention<T> f = attention_forward(q, k, v, s, key_mask, keep);
  AttentionGrad<T> g{std::vector<T>(q.size(), T(0)), std::vector<T>(k.size(), T(0)),
                     std::vector<T>(v.size(), T(0))};
  for (int64_t row = 0; row < s.B * s.H * s.T; ++row) {
    const int64_t bh = row / s.T;
    std::vector<T> dp(s.S, T(0));
    T dot = T(0);
    for (int64_t key = 0; key < s.S; ++key) {
      const T factor = keep.empty() ? T(1) : keep[row * s.S + key];
      const T p = f.p[row * s.S + key];
      for (int64_t d = 0; d < s.D; ++d) {
        dp[key] += dy[row * s.D + d] * v[(bh * s.S + key) * s.D + d] * factor;
        g.dv[(bh * s.S + key) * s.D + d] += p * factor * dy[row * s.D + d];
      }
      dot += p * dp[key];
    }
    for (int64_t key = 0; key < s.S; ++key) {
      const T ds = f.p[row * s.S + key] * (dp[key] - dot) * T(scale);
      for (int64_t d = 0; d < s.D; ++d) {
        g.dq[row * s.D + d] += ds * k[(bh * s.S + key) * s.D + d];
        g.dk[(bh * s.S + key) * s.D + d] += ds * q[row * s.D + d];
      }
    }
  }
  return g;
}

}  // namespace tare::ref
