// SPDX-License-Identifier: Apache-2.0
// Whether ops of the calling thread are recorded on the tape.
#pragma once

namespace tare {

bool grad_enabled();

namespace detail {
enum class GradMode { off, on, observed };  // observed: off, but an observer is told what would be recorded

class GradModeGuard {
 public:
  explicit GradModeGuard(GradMode mode);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  GradMode old_;
};
}  // namespace detail

// While it lives, nothing is recorded: no saved tensors, no gradients.
struct NoGradGuard : detail::GradModeGuard {
  NoGradGuard() : GradModeGuard(detail::GradMode::off) {}
};
// Recording again inside a NoGradGuard, as recomputation needs.
struct EnableGradGuard : detail::GradModeGuard {
  EnableGradGuard() : GradModeGuard(detail::GradMode::on) {}
};

}  // namespace tare
