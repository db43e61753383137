// SPDX-License-Identifier: Apache-2.0
// Compiled without contraction of a * b + c, as codes8_lanes.h asks.
#include "tare/core/parallel.h"
#include "tare/kernels/cpu/codes8_lanes.h"

namespace tare::kernels::cpu {
namespace {

template <bool kSigned> struct Encode {
  template <Isa I>
  static TARE_INLINE void run(const CodeMap* map, const float* x, int64_t n, float inv, uint8_t* codes) {
    encode_run<I, kSigned>(*map, x, n, inv, codes);
  }
};

template <bool kSigned> struct Decode {
  template <Isa I>
  static TARE_INLINE void run(const CodeMap* map, const uint8_t* codes, int64_t n, float absmax, float* x) {
    decode_run<I, kSigned>(*map, codes, n, absmax, x);
  }
};

void encode(const CodeMap& map, const float* x, int64_t n, float inv, uint8_t* codes) {
  if (map.is_signed)
    isa_call_with<Encode<true>>(&map, x, n, inv, codes);
  else
    isa_call_with<Encode<false>>(&map, x, n, inv, codes);
}

// f(block, first, count) over all blocks.
template <class F> void for_blocks(int64_t numel, int64_t block, F f) {
  parallel_for(code_blocks(numel, block), std::max<int64_t>(1, 16384 / block),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) f(b, b * block, std::min(block, numel - b * block));
               });
}

}  // namespace

void encode_blocks(const Tensor& x, const CodeFormat& format, Tensor& codes, Tensor& absmax) {
  const CodeMap& map = code_map(format.map, format.is_signed);
  const float* in = x.data<float>();
  auto* out = codes.mutable_data<uint8_t>();
  auto* greatest = absmax.mutable_data<float>();
  for_blocks(x.numel(), format.block, [&](int64_t b, int64_t first, int64_t count) {
    float most = 0;
    for (int64_t i = first; i < first + count; ++i) most = std::max(most, std::abs(in[i]));
    const BlockScale scale = block_scale(most);
    greatest[b] = scale.absmax;
    encode(map, in + first, count, scale.inv, out + first);
  });
}

void decode_blocks(const Tensor& codes, const Tensor& absmax, const CodeFormat& format, Tensor& x) {
  const CodeMap& map = code_map(format.map, format.is_signed);
  const auto* in = codes.data<uint8_t>();
  const float* greatest = absmax.data<float>();
  auto* out = x.mutable_data<float>();
  for_blocks(x.numel(), format.block, [&](int64_t b, int64_t first, int64_t count) {
    if (map.is_signed)
      isa_call_with<Decode<true>>(&map, in + first, count, greatest[b], out + first);
    else
      isa_call_with<Decode<false>>(&map, in + first, count, greatest[b], out + first);
  });
}

void encode_numbers(const Tensor& x, const CodeMap& map, Tensor& codes) {
  const float* in = x.data<float>();
  auto* out = codes.mutable_data<uint8_t>();
  for_blocks(x.numel(), kMaxCodeBlock,
             [&](int64_t, int64_t first, int64_t count) { encode(map, in + first, count, 1, out + first); });
}

}  // namespace tare::kernels::cpu
