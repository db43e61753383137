// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/sgd.h"

#include "tare/core/isa.h"
#include "tare/kernels/cpu/table_ranges.h"
#include "tare/kernels/optimizer_formulas.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

template <bool kMomentum, bool kNesterov, class T, class A>
TARE_INLINE void sgd_range(T* p, const A* g, A* buf, int64_t n, math::SgdScalars<A> scalars) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    A param = A(p[i]);
    A buffer = kMomentum ? buf[i] : A(0);
    math::sgd_update<kMomentum, kNesterov>(param, g[i], buffer, scalars);
    if constexpr (kMomentum) buf[i] = buffer;
    p[i] = T(param);
  }
}

template <class A>
math::SgdScalars<A> sgd_scalars(const SgdArgs& args, const StepState& s, const TensorEntry& e) {
  const bool first = *e.updates == 0;
  return {A(s.learning_rate * e.lr_factor),
          A(args.momentum),
          A(first ? 1 : 1 - args.dampening),
          A(e.weight_decay),
          A(double(s.clip_coefficient) / double(s.loss_scale)),
          A(first ? 0 : args.momentum)};
}

}  // namespace

void sgd_update(const TensorTable& table, const SgdArgs& args, const Tensor& state) {
  const StepState s = *static_cast<const StepState*>(state.raw());
  if (s.found_inf != 0) return;
  visit_floating(table.param_dtype(), "sgd_update", [&]<class T>() {
    using A = acc_t<T>;
    for_table_ranges(table, kGrain, [&](const TensorEntry& e, int64_t begin, int64_t end) {
      const auto scalars = sgd_scalars<A>(args, s, e);
      T* p = static_cast<T*>(e.param) + begin;
      const A* g = static_cast<const A*>(e.grad) + begin;
      A* buf = static_cast<A*>(e.states[0]) + (args.momentum != 0 ? begin : 0);
      if (args.momentum == 0)
        isa_call<sgd_range<false, false, T, A>>(p, g, buf, end - begin, scalars);
      else if (args.nesterov)
        isa_call<sgd_range<true, true, T, A>>(p, g, buf, end - begin, scalars);
      else
        isa_call<sgd_range<true, false, T, A>>(p, g, buf, end - begin, scalars);
    });
  });
}

}  // namespace tare::kernels::cpu
