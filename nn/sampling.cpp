// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tare/core/error.h"
#include "tare/core/rng.h"

namespace tare::nn {
namespace {

constexpr uint64_t kStream = 0x746f6b656e73;  // "tokens": apart from the streams of modules

// Uniform in (0, 1), with 53 bits.
double uniform(uint64_t seed, int64_t index) {
  const Philox4 bits = philox(RngKey{seed, kStream}.mix(), uint64_t(index), 0);
  return (double((uint64_t(bits.v[0]) << 32 | bits.v[1]) >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

void check(const SamplingOptions& options) {
  TARE_CHECK(options.temperature >= 0 && std::isfinite(options.temperature), "sampling: a temperature of ",
             options.temperature, ", expected 0 or more");
  TARE_CHECK(options.top_k >= 0, "sampling: top_k is ", options.top_k, ", expected 0 (all) or more");
  TARE_CHECK(options.vocabulary >= 0, "sampling: vocabulary is ", options.vocabulary,
             ", expected 0 (all) or more");
}

int64_t choose_token(std::span<const double> logits, const SamplingOptions& options, int64_t index) {
  check(options);
  TARE_CHECK(!logits.empty(), "sampling: no logits");
  if (options.vocabulary > 0) logits = logits.first(std::min(logits.size(), size_t(options.vocabulary)));
  for (size_t i = 0; i < logits.size(); ++i)
    TARE_CHECK(std::isfinite(logits[i]), "sampling: the logit of token ", i, " is ", logits[i]);
  const auto greatest = std::max_element(logits.begin(), logits.end());
  if (options.temperature == 0) return greatest - logits.begin();

  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t(0));
  if (options.top_k > 0 && options.top_k < int64_t(order.size())) {
    const auto greater = [&](size_t a, size_t b) {
      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
    };
    std::nth_element(order.begin(), order.begin() + (options.top_k - 1), order.end(), greater);
    order.resize(size_t(options.top_k));
    std::sort(order.begin(), order.end());
  }
  std::vector<double> cumulative;
  cumulative.reserve(order.size());
  double total = 0;
  for (const size_t token : order)
    cumulative.push_back(total += std::exp((logits[token] - *greatest) / options.temperature));
  const double point = uniform(options.seed, index) * total;
  const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), point);
  return int64_t(order[std::min(size_t(at - cumulative.begin()), order.size() - 1)]);
}

}  // namespace tare::nn
