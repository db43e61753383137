// SPDX-License-Identifier: Apache-2.0
// The learning-rate sweep of `tare bench optimizers --tune`: which rate to try next, and which was the best.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tare::bench {

struct TuningPoint {
  double factor = 1;  // on the optimizer's given or default rate
  double lr = 0;
  double train_loss = 0, heldout_loss = 0;  // NaN when it diverged
  int64_t diverged_at = 0;                  // update that could not be made; 0 when it ran to its end
};

// A grid of powers of two. It begins with 1/4 to 4 and grows on the side where its best point stands at the
// edge, as far as 1/64 and 64.
class LearningRateSearch {
 public:
  explicit LearningRateSearch(double lr) : lr_(lr) {}
  // A search that was made.
  LearningRateSearch(double lr, std::vector<TuningPoint> points) : lr_(lr), points_(std::move(points)) {}

  std::optional<double> next() const;  // the factor to try, nothing when the search is over
  void add(const TuningPoint& point);
  // The least held-out loss; of equal ones, and when all have diverged, the lowest rate. Error before any
  // point.
  const TuningPoint& best() const;
  // The best stands at an end of the grid: a better one may lie outside.
  bool is_at_edge() const;
  const std::vector<TuningPoint>& points() const { return points_; }  // in the order of their rates
  double lr() const { return lr_; }                                   // at factor 1

 private:
  double lr_;
  std::vector<TuningPoint> points_;
};

// Of the optimizer that `text` describes, before any schedule.
double learning_rate_of(const std::string& text);
// The text with `lr` in the place of its rate. Error when such an optimizer takes none.
std::string with_learning_rate(const std::string& text, double lr);

}  // namespace tare::bench
