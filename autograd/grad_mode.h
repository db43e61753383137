// SPDX-License-Identifier: Apache-2.0
// Whether ops of the calling thread are recorded on the tape.
#pragma once

namespace tare {

bool grad_enabled();

namespace detail {
class GradModeGuard {
 public:
  explicit GradModeGuard(bool enabled);
  ~GradModeGuard();
  GradModeGuard(const GradModeGuard&) = delete;
  GradModeGuard& operator=(const GradModeGuard&) = delete;

 private:
  bool old_;
};
}  // namespace detail

// While it lives, nothing is recorded: no saved tensors, no gradients.
struct NoGradGuard : detail::GradModeGuard {
  NoGradGuard() : GradModeGuard(false) {}
};
// Recording again inside a NoGradGuard, as recomputation needs.
struct EnableGradGuard : detail::GradModeGuard {
  EnableGradGuard() : GradModeGuard(true) {}
};

}  // namespace tare
