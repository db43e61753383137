// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/roof.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "tare/core/error.h"
#include "tare/core/isa.h"
#include "tare/core/machine.h"
#include "tare/core/parallel.h"
#include "tare/core/tensor.h"
#include "tare/kernels/cpu/stream_sum.h"

namespace tare::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The cheapest arithmetic that keeps every stream of the pattern: one multiply-add per array.
template <int Updates>
TARE_INLINE void update_streams(float* a, float* b, float* c, const float* g, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    a[i] = a[i] * 0.5f + g[i];
    if constexpr (Updates >= 2) b[i] = b[i] * 0.5f + g[i];
    if constexpr (Updates >= 3) c[i] = c[i] * 0.5f + g[i];
  }
}

TARE_INLINE void copy_stream(const float* src, float* dst, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
}

TARE_INLINE void read_stream(const float* src, float* sum, int64_t n) {
  *sum += float(kernels::cpu::stream_sum<false>(src, n));
}

Roof measure(double bytes, int repeats, const std::function<void()>& run) {
  TARE_CHECK(repeats >= 1, "measuring a roof needs at least one repeat");
  CacheFlush flush;
  std::vector<double> gbps;
  for (int i = 0; i <= repeats; ++i) {
    flush();
    const double begin = now();
    run();
    if (i > 0) gbps.push_back(bytes / (now() - begin) * 1e-9);
  }
  return {median(gbps), scatter(gbps)};
}

template <int Updates> Roof measure_updates(StreamPattern pattern, int64_t elements, int repeats) {
  Tensor arrays[3], g = Tensor::full({elements}, 1);
  float* p[3] = {};
  for (int i = 0; i < Updates; ++i) {
    arrays[i] = Tensor::full({elements}, 1);
    p[i] = arrays[i].mutable_data<float>();
  }
  const float* read = pattern.reads ? g.data<float>() : p[0];
  return measure(pattern.bytes_per_element() * double(elements), repeats, [&] {
    parallel_for(elements, 1 << 14, [&](int64_t begin, int64_t end) {
      isa_call<update_streams<Updates>>(p[0] + begin, p[1] + begin, p[2] + begin, read + begin, end - begin);
    });
  });
}

// Twelve independent chains hide the latency of the multiply-add.
template <int Lanes> struct Floats;
template <> struct Floats<4> { typedef float Vec __attribute__((vector_size(16))); };
template <> struct Floats<8> { typedef float Vec __attribute__((vector_size(32))); };
template <> struct Floats<16> { typedef float Vec __attribute__((vector_size(64))); };

template <int Lanes> TARE_INLINE void fma_chains(float* out, int64_t rounds) {
  using Vec = typename Floats<Lanes>::Vec;
  constexpr int kChains = 12;
  Vec chain[kChains];
  const Vec scale = Vec{} + 0.999f, step = Vec{} + 0.001f;
  for (int j = 0; j < kChains; ++j) chain[j] = Vec{} + float(j);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (int j = 0; j < kChains; ++j) chain[j] = chain[j] * scale + step;
  Vec sum = chain[0];
  for (int j = 1; j < kChains; ++j) sum += chain[j];
  *out = sum[0];
}

}  // namespace

StreamPattern pattern_of(double bytes_per_element) {
  return {1, std::clamp(int((bytes_per_element - 4) / 8 + 0.5), 1, 3)};
}

CacheFlush::CacheFlush()
    : data_(Tensor::zeros({std::clamp<int64_t>(2 * this_machine().l3_bytes, 64 << 20, 256 << 20) / 4})) {}

void CacheFlush::operator()() {
  float* p = data_.mutable_data<float>();
  parallel_for(data_.numel(), 1 << 16, [p](int64_t begin, int64_t end) {
    isa_call<update_streams<1>>(p + begin, p, p, p + begin, end - begin);
  });
}

Roof measure_streams(StreamPattern pattern, int64_t elements, int repeats) {
  switch (pattern.updates) {
    case 1:
      return measure_updates<1>(pattern, elements, repeats);
    case 2:
      return measure_updates<2>(pattern, elements, repeats);
    case 3:
      return measure_updates<3>(pattern, elements, repeats);
  }
  TARE_THROW("measure_streams: ", pattern.updates, " updated streams, expected 1 to 3");
}

Roof measure_copy(int64_t elements, int repeats) {
  const Tensor src = Tensor::full({elements}, 1);
  Tensor dst = Tensor::zeros({elements});
  const float* from = src.data<float>();
  float* to = dst.mutable_data<float>();
  return measure(8.0 * double(elements), repeats, [&] {
    parallel_for(elements, 1 << 14, [&](int64_t begin, int64_t end) {
      isa_call<copy_stream>(from + begin, to + begin, end - begin);
    });
  });
}

Roof measure_read(int64_t elements, int repeats) {
  const Tensor src = Tensor::full({elements}, 1);
  const float* from = src.data<float>();
  std::vector<float> sums(size_t(num_threads()) * 16);
  return measure(4.0 * double(elements), repeats, [&] {
    const int64_t piece = (elements + num_threads() - 1) / num_threads();
    parallel_for(num_threads(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        isa_call<read_stream>(from + std::min(t * piece, elements), &sums[size_t(t) * 16],
                              std::max<int64_t>(0, std::min(piece, elements - t * piece)));
    });
  });
}

double measure_fma_gflops() {
  const int lanes = active_isa() == Isa::base ? 4 : active_isa() == Isa::v3 ? 8 : 16;
  constexpr int64_t kRounds = 4'000'000;
  std::vector<double> gflops;
  std::vector<float> out(size_t(num_threads()) * 16);
  for (int i = 0; i < 4; ++i) {
    const double begin = now();
    parallel_for(num_threads(), 1, [&](int64_t first, int64_t last) {
      for (int64_t t = first; t < last; ++t) {
        float* sink = &out[size_t(t) * 16];
        if (lanes == 4)
          isa_call<fma_chains<4>>(sink, kRounds);
        else if (lanes == 8)
          isa_call<fma_chains<8>>(sink, kRounds);
        else
          isa_call<fma_chains<16>>(sink, kRounds);
      }
    });
    if (i > 0) gflops.push_back(2.0 * 12 * lanes * double(kRounds) * num_threads() / (now() - begin) * 1e-9);
  }
  return median(gflops);
}

}  // namespace tare::bench
