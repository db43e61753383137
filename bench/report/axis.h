// SPDX-License-Identifier: Apache-2.0
// Scales from figures to places in a chart, their ticks, and figures as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tare::bench {

// Maps [low, high] to [from, to], linearly or by logarithms.
struct Scale {
  double low = 0, high = 1;
  double from = 0, to = 1;
  bool is_log = false;
  double operator()(double value) const;
};

// Ends of an axis that holds `values` (finite ones; without any, 0 to 1) with a little room. `zero` makes a
// linear axis begin at 0.
Scale scale_of(const std::vector<double>& values, bool is_log, bool zero);

// About `wanted` round values of the scale's range: 1, 2 or 5 times a power of ten; decades of a long
// logarithmic one.
std::vector<double> ticks(const Scale& scale, int wanted);

std::string grouped(int64_t value);           // "1,286,468"
std::string short_bytes(double bytes);        // "1.29 MB": three digits, powers of 1,000
std::string short_number(double value);       // three significant digits, no exponent between 1e-4 and 1e6
std::string fixed(double value, int digits);  // "-" of what is not finite

// The unit of an axis of times that reach `seconds`, and how many of them a second has.
struct TimeUnit {
  const char* name;
  double per_second;
};
TimeUnit time_unit(double seconds);

}  // namespace tare::bench
