// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/loss_scale.h"

#include <atomic>
#include <cmath>

#include "tare/core/isa.h"
#include "tare/kernels/accum.h"
#include "tare/kernels/cpu/table_ranges.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;

const StepState& read(const Tensor& state) { return *static_cast<const StepState*>(state.raw()); }
StepState& write(Tensor& state) { return *static_cast<StepState*>(state.mutable_raw()); }

// *finite: whether all results are. 0 x is 0 for a finite x and NaN for another.
template <class A> TARE_INLINE void scale_range(A* g, int64_t n, A factor, bool* finite) {
  A zeros = 0;
#pragma omp simd reduction(+ : zeros)
  for (int64_t i = 0; i < n; ++i) {
    g[i] *= factor;
    zeros += A(0) * g[i];
  }
  *finite = zeros == A(0);
}

}  // namespace

void take_loss_scale(const Tensor& scaler, Tensor& state) {
  write(state).loss_scale = read(scaler).loss_scale;
}

void report_found_inf(const Tensor& state, Tensor& scaler) {
  if (read(state).found_inf != 0) write(scaler).found_inf = 1;
}

void read_loss_scale(const Tensor& scaler, Tensor& scale) {
  visit_floating(scale.dtype(), "read_loss_scale",
                 [&]<class T>() { *scale.mutable_data<T>() = T(acc_t<T>(read(scaler).loss_scale)); });
}

void update_loss_scale(const LossScaleArgs& args, Tensor& scaler) {
  StepState& s = write(scaler);
  if (s.found_inf != 0) {
    s.loss_scale *= float(args.backoff_factor);
    s.growth_tracker = 0;
  } else if (++s.growth_tracker == args.growth_interval) {
    const float grown = s.loss_scale * float(args.growth_factor);
    if (std::isfinite(grown)) s.loss_scale = grown;
    s.growth_tracker = 0;
  }
  s.found_inf = 0;
}

void unscale_gradients(const TensorTable& table, Tensor& scaler) {
  const double inverse = 1 / double(read(scaler).loss_scale);
  std::atomic<bool> all_finite = true;
  visit_floating(table.grad_dtype(), "unscale_gradients", [&]<class T>() {
    if constexpr (std::is_same_v<T, acc_t<T>>)
      for_table_ranges(table, kGrain, [&](const TensorEntry& e, int64_t begin, int64_t end) {
        // The one kernel that changes gradients, which all others read.
        T* g = static_cast<T*>(const_cast<void*>(e.grad)) + begin;
        bool finite = true;
        isa_call<scale_range<T>>(g, end - begin, T(inverse), &finite);
        if (!finite) all_finite = false;
      });
  });
  if (!all_finite) write(scaler).found_inf = 1;
}

}  // namespace tare::kernels::cpu
