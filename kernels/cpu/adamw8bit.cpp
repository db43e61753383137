// SPDX-License-Identifier: Apache-2.0
// Compiled without contraction of a * b + c, as codes8_lanes.h asks.
#include "tare/kernels/adamw8bit.h"

#include <cmath>
#include <limits>

#include "tare/kernels/cpu/codes8_lanes.h"
#include "tare/kernels/cpu/table_ranges.h"
#include "tare/kernels/optimizer_formulas.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements per thread at least

// The states of a run of whole blocks; the tensor's last one may be shorter.
struct CodedStates {
  uint8_t* m;
  float* m_absmax;
  uint8_t* v;
  float* v_absmax;
  const CodeMap* m_map;
  const CodeMap* v_map;
  int64_t block;
};

// Floats that are not negative are ordered as their bits are.
TARE_INLINE int32_t magnitude_bits(float x) { return std::bit_cast<int32_t>(x) & 0x7fffffff; }

// What overflowed becomes the greatest float.
void clamp_to_finite(float* x, int64_t n) {
  constexpr float kMost = std::numeric_limits<float>::max();
  for (int64_t i = 0; i < n; ++i) x[i] = std::clamp(x[i], -kMost, kMost);
}

BlockScale finish_block(float* x, int64_t n, int32_t greatest) {
  if (greatest < 0x7f800000) return block_scale(std::bit_cast<float>(greatest));
  clamp_to_finite(x, n);
  return block_scale(std::numeric_limits<float>::max());
}

template <class T> struct Adam8 {
  template <Isa I>
  static TARE_INLINE void run(T* p, const float* g, CodedStates s, int64_t n,
                              math::AdamScalars<float> scalars) {
    alignas(64) float m[kMaxCodeBlock], v[kMaxCodeBlock];
    for (int64_t b = 0; b * s.block < n; ++b) {
      const int64_t first = b * s.block, count = std::min(s.block, n - first);
      decode_run<I, true>(*s.m_map, s.m + first, count, s.m_absmax[b], m);
      decode_run<I, false>(*s.v_map, s.v + first, count, s.v_absmax[b], v);
      int32_t m_greatest = 0, v_greatest = 0;
#pragma omp simd reduction(max : m_greatest, v_greatest)
      for (int64_t i = 0; i < count; ++i) {
        float param = float(p[first + i]), exp_avg = m[i], exp_avg_sq = v[i];
        math::adam_update(param, g[first + i], exp_avg, exp_avg_sq, scalars);
        p[first + i] = T(param);
        m[i] = exp_avg;
        v[i] = exp_avg_sq;
        m_greatest = std::max(m_greatest, magnitude_bits(exp_avg));
        v_greatest = std::max(v_greatest, magnitude_bits(exp_avg_sq));
      }
      const BlockScale m_scale = finish_block(m, count, m_greatest),
                       v_scale = finish_block(v, count, v_greatest);
      s.m_absmax[b] = m_scale.absmax;
      s.v_absmax[b] = v_scale.absmax;
      encode_run<I, true>(*s.m_map, m, count, m_scale.inv, s.m + first);
      encode_run<I, false>(*s.v_map, v, count, v_scale.inv, s.v + first);
    }
  }
};

template <class T> void update_all(const TensorTable& table, const AdamW8bitArgs& args, const StepState& s) {
  const double grad_scale = double(s.clip_coefficient) / double(s.loss_scale);
  const CodeMap &m_map = code_map(args.map, true), &v_map = code_map(args.map_sq, false);
  const auto run = [&](const TensorEntry& e, int64_t begin, int64_t end) {
    const auto scalars =
        math::adam_scalars<float>(args.beta1, args.beta2, args.eps, s.learning_rate * e.lr_factor,
                                  e.weight_decay, grad_scale, *e.updates + 1);
    const CodedStates states{static_cast<uint8_t*>(e.states[0]) + begin,
                             static_cast<float*>(e.states[1]) + begin / args.block,
                             static_cast<uint8_t*>(e.states[2]) + begin,
                             static_cast<float*>(e.states[3]) + begin / args.block,
                             &m_map,
                             &v_map,
                             args.block};
    isa_call_with<Adam8<T>>(static_cast<T*>(e.param) + begin, static_cast<const float*>(e.grad) + begin,
                            states, end - begin, scalars);
  };
  for_table_ranges(table, kGrain, run, args.block);
}

}  // namespace

void adamw8bit_update(const TensorTable& table, const AdamW8bitArgs& args, const Tensor& state) {
  const StepState s = *static_cast<const StepState*>(state.raw());
  if (s.found_inf != 0) return;
  switch (table.param_dtype()) {
    case DType::f32:
      return update_all<float>(table, args, s);
    case DType::f16:
      return update_all<f16>(table, args, s);
    case DType::bf16:
      return update_all<bf16>(table, args, s);
    case DType::f64:
    case DType::i64:
    case DType::i32:
    case DType::u8:
    case DType::boolean:
      break;
  }
  TARE_THROW("adamw8bit_update: parameters are ", table.param_dtype());
}

}  // namespace tare::kernels::cpu
