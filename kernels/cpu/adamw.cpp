// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/adamw.h"

#include "tare/core/isa.h"
#include "tare/kernels/cpu/table_ranges.h"
#include "tare/kernels/optimizer_formulas.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

template <class T, class A>
TARE_INLINE void adamw_range(T* p, const A* g, A* m, A* v, int64_t n, math::AdamScalars<A> scalars) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    A param = A(p[i]), exp_avg = m[i], exp_avg_sq = v[i];
    math::adam_update(param, g[i], exp_avg, exp_avg_sq, scalars);
    p[i] = T(param);
    m[i] = exp_avg;
    v[i] = exp_avg_sq;
  }
}

}  // namespace

void adamw_update(const TensorTable& table, const AdamWArgs& args, const Tensor& state) {
  const StepState s = *static_cast<const StepState*>(state.raw());
  if (s.found_inf != 0) return;
  const double grad_scale = double(s.clip_coefficient) / double(s.loss_scale);
  visit_floating(table.param_dtype(), "adamw_update", [&]<class T>() {
    using A = acc_t<T>;
    for_table_ranges(table, kGrain, [&](const TensorEntry& e, int64_t begin, int64_t end) {
      const auto scalars =
          math::adam_scalars<A>(args.beta1, args.beta2, args.eps, s.learning_rate * e.lr_factor,
                                e.weight_decay, grad_scale, *e.updates + 1);
      isa_call<adamw_range<T, A>>(static_cast<T*>(e.param) + begin, static_cast<const A*>(e.grad) + begin,
                                  static_cast<A*>(e.states[0]) + begin, static_cast<A*>(e.states[1]) + begin,
                                  end - begin, scalars);
    });
  });
}

}  // namespace tare::kernels::cpu
