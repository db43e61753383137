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

double learning_rate_of(const std::string& text) {
  const auto optimizer = optim::make_trial_optimizer(text);
  TARE_CHECK(optim::parse_settings(optimizer->settings())["relative_step"] != "true", "tuning of ", text,
             ": without a learning rate its steps are relative; add lr=1e-2");
  return optimizer->learning_rate();
}

std::string with_learning_rate(const std::string& text, double lr) {
  std::string result = optim::with_option(text, "lr", Json(lr).dump());
  optim::make_trial_optimizer(result);  // does it take one?
  return result;
}

}  // namespace tare::bench
