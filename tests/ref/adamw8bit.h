// SPDX-License-Identifier: Apache-2.0
// Reference of AdamW with 8-bit moments in blocks, for one tensor. T is the type of all arithmetic: float is
// that of the kernel, rounding for rounding; double shows how far rounding goes.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/ref/codes8.h"
#include "tests/ref/optim.h"

namespace tare::ref {

struct CodedMoment {
  std::vector<uint8_t> codes;
  std::vector<float> absmax;        // one per block
  std::vector<double> scaled = {};  // what the latest codes are the nearest to
};

template <class T> std::vector<T> decode(const CodedMoment& s, const std::vector<float>& map, size_t block) {
  std::vector<T> x(s.codes.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = T(map[s.codes[i]]) * T(s.absmax[i / block]);
  return x;
}

template <class T> CodedMoment encode(const std::vector<T>& x, const std::vector<float>& map, size_t block) {
  CodedMoment s{std::vector<uint8_t>(x.size()), std::vector<float>((x.size() + block - 1) / block)};
  s.scaled.resize(x.size());
  for (size_t b = 0; b < s.absmax.size(); ++b) {
    const size_t end = std::min(x.size(), (b + 1) * block);
    T most = 0;
    for (size_t i = b * block; i < end; ++i) most = std::max(most, T(std::fabs(x[i])));
    const bool zero = most < T(0x1p-126);
    s.absmax[b] = zero ? 0 : float(most);
    const T inverse = zero ? T(0) : T(1) / most;
    for (size_t i = b * block; i < end; ++i) {
      s.scaled[i] = double(x[i] * inverse);
      s.codes[i] = nearest_code(map, s.scaled[i]);
    }
  }
  return s;
}

struct Coded {
  std::vector<float> map, map_sq;
  size_t block = 256;
};

// One update, decay first; step counts from 1; g is scaled already.
template <class T>
void adamw8bit(std::vector<T>& p, CodedMoment& m8, CodedMoment& v8, const std::vector<float>& g, int64_t step,
               const AdamWOptions& o, const Coded& c) {
  std::vector<T> m = decode<T>(m8, c.map, c.block), v = decode<T>(v8, c.map_sq, c.block);
  const double correction1 = 1 - std::pow(o.beta1, double(step));
  const double correction2 = std::sqrt(1 - std::pow(o.beta2, double(step)));
  const T rate = T(o.lr * correction2 / correction1), eps = T(o.eps * correction2);
  for (size_t i = 0; i < p.size(); ++i) {
    const T kept = T(o.beta1) * m[i], gained = T(1 - o.beta1) * T(g[i]);
    m[i] = kept + gained;
    const T square = T(g[i]) * T(g[i]);
    const T kept_sq = T(o.beta2) * v[i], gained_sq = T(1 - o.beta2) * square;
    v[i] = kept_sq + gained_sq;
    const T decayed = T(1 - o.lr * o.weight_decay) * p[i];
    const T move = rate * m[i], root = std::sqrt(v[i]);
    const T denominator = root + eps;
    p[i] = decayed - move / denominator;
  }
  m8 = encode(m, c.map, c.block);
  v8 = encode(v, c.map_sq, c.block);
}

}  // namespace tare::ref
