// SPDX-License-Identifier: Apache-2.0
// How a parameter gets its first values: a rule that a module states when it registers the parameter, and
// that Module::initialize carries out.
#pragma once

#include <cstdint>
#include <string>

#include "tare/core/tensor.h"

namespace tare::nn {

// A distribution. Values depend on the seed and the parameter's full name alone: not on the order of
// construction, the number of threads or the device; another dtype rounds the same numbers.
struct Init {
  enum class Kind : uint8_t { constant, normal, uniform };
  Kind kind = Kind::constant;
  double a = 0;  // the constant, the mean, the lower end
  double b = 0;  // unused, the standard deviation, the upper end

  static Init constant(double value) { return {Kind::constant, value, 0}; }
  static Init zeros() { return constant(0); }
  static Init ones() { return constant(1); }
  static Init normal(double std, double mean = 0) { return {Kind::normal, mean, std}; }
  static Init uniform(double low, double high) { return {Kind::uniform, low, high}; }
};

// Fills a floating tensor; `name` is the parameter's full name. On meta there is nothing to fill.
void initialize(Tensor& t, const Init& init, uint64_t seed, const std::string& name);

}  // namespace tare::nn
