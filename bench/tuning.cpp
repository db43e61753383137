// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/tuning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tare/core/json.h"
#include "tare/optim/factory.h"
#include "tare/optim/spec.h"

namespace tare::bench {
namespace {

constexpr double kFirst[] = {1, 2, 0.5, 4, 0.25};
constexpr double kGreatest = 64;

double rank_of(const TuningPoint& point) {
  return std::isfinite(point.heldout_loss) && point.diverged_at == 0
             ? point.heldout_loss
             : std::numeric_limits<double>::infinity();
}

// One parameter is enough to read an optimizer's options.
std::unique_ptr<optim::Optimizer> sample_of(const std::string& text) {
  return optim::make_trial_optimizer(text);
}

}  // namespace

std::optional<double> LearningRateSearch::next() const {
  for (const double factor : kFirst)
    if (std::none_of(points_.begin(), points_.end(), [&](const auto& p) { return p.factor == factor; }))
      return factor;
  const double best_factor = best().factor;
  if (best_factor == points_.back().factor && best_factor < kGreatest) return 2 * best_factor;
  if (best_factor == points_.front().factor && best_factor > 1 / kGreatest) return best_factor / 2;
  return std::nullopt;
}

void LearningRateSearch::add(const TuningPoint& point) {
  const auto place = std::find_if(points_.begin(), points_.end(),
                                  [&](const TuningPoint& p) { return p.factor >= point.factor; });
  points_.insert(place, point);
}

const TuningPoint& LearningRateSearch::best() const {
  TARE_CHECK(!points_.empty(), "a search for a learning rate without a point has no best one");
  return *std::min_element(points_.begin(), points_.end(), [](const TuningPoint& a, const TuningPoint& b) {
    return rank_of(a) < rank_of(b);  // the first of equal ones
  });
}

bool LearningRateSearch::is_at_edge() const {
  const double factor = best().factor;
  return factor == points_.front().factor || factor == points_.back().factor;
}

double learning_rate_of(const std::string& text) { return sample_of(text)->learning_rate(); }

std::string with_learning_rate(const std::string& text, double lr) {
  const std::string option = "lr=" + Json(lr).dump();
  const size_t colon = text.find(':');
  std::string result = text.substr(0, colon);
  bool placed = false;
  size_t begin = colon;
  while (begin != std::string::npos) {
    const size_t end = text.find(',', begin + 1);
    const std::string part = text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    const bool is_rate = part.starts_with("lr=");
    result += text[begin] + (is_rate ? option : part);
    placed = placed || is_rate;
    begin = end;
  }
  if (!placed) result += (colon == std::string::npos ? ":" : ",") + option;
  sample_of(result);  // does it take one?
  return result;
}

}  // namespace tare::bench
