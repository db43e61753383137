// SPDX-License-Identifier: Apache-2.0
// One loop body, three instruction sets, chosen at run time.
//
//   template <class F> TARE_INLINE void map_body(const float* x, float* y, int64_t n, F f) { ... omp simd ...
//   } isa_call<map_body<Gelu>>(x, y, n, Gelu{});
//
// The body must be TARE_INLINE (always_inline), as must all that it calls: it is then compiled inside a
// caller that has the target attribute. Lambdas do not inherit that attribute: pass functors.
#pragma once

#include <cstdint>
#include <string_view>

#define TARE_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define TARE_TARGET_V3 __attribute__((target("arch=x86-64-v3")))
#ifdef __clang__
#define TARE_TARGET_V4 __attribute__((target("arch=x86-64-v4")))
#else
#define TARE_TARGET_V4 __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#endif
#else
#define TARE_TARGET_V3
#define TARE_TARGET_V4
#endif

namespace tare {

enum class Isa : uint8_t { base, v3, v4 };  // x86-64, x86-64-v3 (AVX2, FMA, F16C), x86-64-v4 (AVX-512)

std::string_view name_of(Isa isa);
Isa best_isa();  // the best that this processor runs
// "base", "v3" or "v4"; another text, or one that this processor lacks, is an Error.
Isa isa_from_name(std::string_view name);
// The instruction set in use: best_isa(), or the environment's TARE_ISA=base|v3|v4; a value that is unknown
// or that the processor lacks is an Error.
Isa active_isa();
void set_active_isa(Isa isa);  // tests; Error when the processor lacks it

namespace detail {

template <auto Body, class... A> void run_base(A... a) { Body(a...); }
template <auto Body, class... A> TARE_TARGET_V3 void run_v3(A... a) { Body(a...); }
template <auto Body, class... A> TARE_TARGET_V4 void run_v4(A... a) { Body(a...); }

}  // namespace detail

// Bytes of a vector register of an instruction set.
constexpr int vector_bytes(Isa isa) { return isa == Isa::v4 ? 64 : isa == Isa::v3 ? 32 : 16; }

// Calls Body compiled for I, from a body that is itself compiled for I: a call where inlining would bloat.
template <Isa I, auto Body, class... A> TARE_INLINE void isa_run(A... a) {
  if constexpr (I == Isa::v4)
    detail::run_v4<Body, A...>(a...);
  else if constexpr (I == Isa::v3)
    detail::run_v3<Body, A...>(a...);
  else
    detail::run_base<Body, A...>(a...);
}

// Calls Body, compiled for the instruction set in use. Arguments are passed by value.
template <auto Body, class... A> void isa_call(A... a) {
  switch (active_isa()) {
    case Isa::base:
      return detail::run_base<Body, A...>(a...);
    case Isa::v3:
      return detail::run_v3<Body, A...>(a...);
    case Isa::v4:
      return detail::run_v4<Body, A...>(a...);
  }
}

// For bodies that must know the instruction set, as register-blocked code does: calls K::run<I>(a...),
// compiled for the instruction set in use.
template <class K, class... A> void isa_call_with(A... a) {
  switch (active_isa()) {
    case Isa::base:
      return isa_run<Isa::base, &K::template run<Isa::base>>(a...);
    case Isa::v3:
      return isa_run<Isa::v3, &K::template run<Isa::v3>>(a...);
    case Isa::v4:
      return isa_run<Isa::v4, &K::template run<Isa::v4>>(a...);
  }
}

}  // namespace tare
