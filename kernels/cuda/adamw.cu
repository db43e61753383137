// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/adamw.h"

#include "tare/kernels/cuda/table_chunks.cuh"
#include "tare/kernels/optimizer_formulas.h"

namespace tare::kernels::cuda {
namespace {

template <class T, class A>
__device__ __forceinline__ void adamw_elements(T* p, const A* g, A* m, A* v,
                                               const math::AdamScalars<A>& scalars) {
  A param = A(*p), exp_avg = *m, exp_avg_sq = *v;
  math::adam_update(param, *g, exp_avg, exp_avg_sq, scalars);
  *p = T(param), *m = exp_avg, *v = exp_avg_sq;
}

template <class T>
__global__ void __launch_bounds__(kChunkThreads)
    adamw_kernel(const TensorEntry* entries, int64_t count, AdamWArgs args, const StepState* state) {
  using A = acc_t<T>;
  constexpr int kVec = 16 / sizeof(A);
  SHARED(chunk, TableChunk);
  SHARED(scalars, math::AdamScalars<A>);
  if (state->found_inf != 0) return;
  if (threadIdx.x == 0) {
    chunk = find_chunk(entries, count, block_index());
    const TensorEntry& e = entries[chunk.entry];
    const double grad_scale = double(state->clip_coefficient) / double(state->loss_scale);
    scalars = math::adam_scalars<A>(args.beta1, args.beta2, args.eps, state->learning_rate * e.lr_factor,
                                    e.weight_decay, grad_scale, *e.updates + 1);
  }
  __syncthreads();
  const TensorEntry& e = entries[chunk.entry];
  T* p = static_cast<T*>(e.param);
  const A* g = static_cast<const A*>(e.grad);
  A *m = static_cast<A*>(e.states[0]), *v = static_cast<A*>(e.states[1]);
  for_chunk<kVec>(
      chunk, aligned_for<kVec>(p) && aligned_for<kVec>(g) && aligned_for<kVec>(m) && aligned_for<kVec>(v),
      [&](int64_t i) {
        auto vp = load<kVec>(p + i);
        const auto vg = load<kVec>(g + i);
        auto vm = load<kVec>(m + i), vv = load<kVec>(v + i);
        for (int k = 0; k < kVec; ++k) adamw_elements(&vp.v[k], &vg.v[k], &vm.v[k], &vv.v[k], scalars);
        store(p + i, vp), store(m + i, vm), store(v + i, vv);
      },
      [&](int64_t i) { adamw_elements(p + i, g + i, m + i, v + i, scalars); });
}

}  // namespace

void adamw_update(const TensorTable& table, const AdamWArgs& args, const Tensor& state) {
  if (table.numel() == 0) return;
  const cudaStream_t stream = tare::cuda::compute_stream(table.device());
  const auto* s = static_cast<const StepState*>(state.raw());
  visit_floating(table.param_dtype(), "adamw_update", [&]<class T>() {
    launch<adamw_kernel<T>>(table_launch(table, stream), table.entries(), table.count(), args, s);
  });
}

}  // namespace tare::kernels::cuda
