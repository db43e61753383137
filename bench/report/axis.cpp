// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/report/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tare::bench {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is not below `value`.
double round_step(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= value * (1 - 1e-9)) return factor * decade;
  return 10 * decade;
}

std::vector<double> log_ticks(const Scale& s, int wanted) {
  const double decades = std::log10(s.high / s.low);
  const int every = std::max(1, int(std::ceil(decades / wanted)));
  std::vector<double> list;
  const int first = int(std::floor(std::log10(s.low)));
  for (int e = first; e <= int(std::ceil(std::log10(s.high))); ++e)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, e);
      const bool shown = factor == 1 ? (e - first) % every == 0 : decades < 2.2;
      if (shown && value >= s.low * (1 - 1e-9) && value <= s.high * (1 + 1e-9)) list.push_back(value);
    }
  return list;
}

}  // namespace

double Scale::operator()(double value) const {
  const double part = is_log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + part * (to - from);
}

Scale scale_of(const std::vector<double>& values, bool is_log, bool zero) {
  Scale scale{.is_log = is_log};
  bool any = false;
  for (const double v : values) {
    if (!std::isfinite(v) || (is_log && v <= 0)) continue;
    scale.low = any ? std::min(scale.low, v) : v;
    scale.high = any ? std::max(scale.high, v) : v;
    any = true;
  }
  if (is_log) {
    if (!any) scale.low = 1, scale.high = 10;
    const double room = std::max(std::pow(scale.high / scale.low, 0.08), 1.3);
    scale.low /= room;
    scale.high *= room;
    return scale;
  }
  if (!any) return scale;
  if (zero) scale.low = std::min(scale.low, 0.0);
  const double span = scale.high - scale.low;
  const double room = span > 0 ? 0.06 * span : std::max(0.05 * std::abs(scale.high), 1e-9);
  scale.high += room;
  if (!zero || scale.low < 0) scale.low -= room;
  return scale;
}

std::vector<double> ticks(const Scale& scale, int wanted) {
  if (scale.is_log) return log_ticks(scale, wanted);
  const double step = round_step((scale.high - scale.low) / wanted);
  std::vector<double> list;
  for (double i = std::ceil(scale.low / step - 1e-9); i * step <= scale.high + 1e-9 * step; ++i)
    list.push_back(i * step + 0.0);  // 0, not -0
  return list;
}

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (int at = int(digits.size()) - 3; at > 0; at -= 3) digits.insert(size_t(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string short_bytes(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; std::abs(bytes) >= 999.5 && unit < 4; ++unit) bytes /= 1000;
  return short_number(bytes) + " " + units[unit];
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size >= 999.5 && size < 1e6) return grouped(std::llround(value));
  char text[32];
  if (size == 0 || (size >= 1e-4 && size < 1e6)) {
    const int before = size < 1e-9 ? 1 : int(std::floor(std::log10(size))) + 1;
    std::snprintf(text, sizeof text, "%.*f", std::max(0, 3 - before), value);
    std::string result = text;
    if (result.find('.') != std::string::npos) {
      result.erase(result.find_last_not_of('0') + 1);
      if (result.back() == '.') result.pop_back();
    }
    return result;
  }
  std::snprintf(text, sizeof text, "%.3g", value);
  std::string result = text;  // 1e+09 as 1e9
  const size_t exponent = result.find('e') + 1;
  const bool negative = result[exponent] == '-';
  const size_t digits = result.find_first_not_of("+-0", exponent);
  return result.substr(0, exponent) + (negative ? "-" : "") + result.substr(digits);
}

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

TimeUnit time_unit(double seconds) {
  if (seconds < 0.5) return {"ms", 1e3};
  if (seconds < 240) return {"s", 1};
  if (seconds < 3 * 3600) return {"min", 1.0 / 60};
  return {"h", 1.0 / 3600};
}

}  // namespace tare::bench
