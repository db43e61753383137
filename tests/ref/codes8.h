// SPDX-License-Identifier: Apache-2.0
// Reference of the 8-bit codes: the dynamic map built as its paper tells (Dettmers et al. 2022, section 1.2),
// by decades of evenly spaced means, and the nearest of a list by looking at all of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace tare::ref {

// Sorted; 256 values in f64.
inline std::vector<double> dynamic_map(bool is_signed) {
  std::vector<double> values{0, 1};
  for (int i = 0; i < 7; ++i) {
    const int parts = 1 << (is_signed ? i : i + 1);
    const double decade = std::pow(10.0, i - 6);
    for (int part = 0; part < parts; ++part) {
      const double low = 0.1 + 0.9 * part / parts, high = 0.1 + 0.9 * (part + 1) / parts;
      values.push_back(decade * (low + high) / 2);
      if (is_signed) values.push_back(-values.back());
    }
  }
  std::sort(values.begin(), values.end());
  return values;
}

// The code whose value is nearest, the one farther from zero of two equally near; among equal values the
// first.
template <class T> uint8_t nearest_code(const std::vector<T>& values, double x) {
  size_t best = 0;
  for (size_t c = 1; c < values.size(); ++c) {
    const double here = std::fabs(double(values[c]) - x), there = std::fabs(double(values[best]) - x);
    if (here < there || (here == there && std::fabs(double(values[c])) > std::fabs(double(values[best]))))
      best = c;
  }
  return uint8_t(best);
}

}  // namespace tare::ref
