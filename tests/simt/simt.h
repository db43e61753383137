// SPDX-License-Identifier: Apache-2.0
// SIMT emulator, device side: what a kernel sees when a plain C++ compiler builds it. NVIDIA's headers give
// the types (dim3, float4, half, bf16); this gives the execution model. Tests only: it defines global min,
// atomicAdd ...
#pragma once
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// ---- language
// ------------------------------------------------------------------------------------------------ A plain
// __shared__ variable would silently become a local of each thread: refused.
#undef __shared__
#define __shared__ static_assert(false, "use SHARED(name, type) or DYNAMIC_SHARED(name, type)");
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __forceinline__
#define __forceinline__ inline
#undef __grid_constant__
#define __grid_constant__

// Constant for the life of a CUDA thread, hence `const` as for nvcc; the engine writes them under an
// assembler alias.
extern thread_local constinit const uint3 threadIdx, blockIdx, blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace simt {

// A fault of the kernel or of its launch. The text names kernel, block and thread.
struct Error : std::runtime_error {
  using runtime_error::runtime_error;
};

// Where in the source a synchronising call stands; filled in by default arguments at the call.
struct Site {
  const char* file;
  int line;
  bool operator==(const Site&) const = default;
};
constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

// The order in which runnable threads of a block (and queued streams, when random) are served. Tests may
// change options() between launches; the start values come from SIMT_ORDER = forward|reverse|random and
// SIMT_SEED.
enum class Order { forward, reverse, random };
struct Options {
  Order order = Order::random;
  uint64_t seed = 1;
  size_t device_bytes = size_t{8} << 30;  // what the emulated device holds; cudaMalloc fails beyond
};
Options& options();

// One kernel launch: `call(closure)` runs the kernel's body once for each thread of the grid.
struct Work {
  std::string_view kernel;
  dim3 grid, block;
  size_t smem = 0;
  cudaStream_t stream = nullptr;
  std::shared_ptr<const void> closure{};
  size_t closure_bytes = 0;
  void (*call)(const void* closure) = nullptr;
};
// Checks the launch's dimensions and queues it on its stream (the null stream runs it at once). Throws Error
// for a fault in this launch, or in an earlier one whose turn has come.
cudaError_t enqueue(Work work);

template <class F> cudaError_t launch(Work work, const F& body) {
  work.closure = std::make_shared<const F>(body), work.closure_bytes = sizeof(F);
  work.call = [](const void* closure) { (*static_cast<const F*>(closure))(); };
  return enqueue(std::move(work));
}

// Shared memory of the running block. `key` tells one SHARED declaration from another.
void* static_shared(const void* key, const char* name, size_t size, size_t align);
void* dynamic_shared();
template <class T, class Tag> T& shared(const char* name, Tag) {
  static const char key = 0;
  return *static_cast<T*>(static_shared(&key, name, sizeof(T), alignof(T)));
}

enum class Op : uint8_t { syncwarp, shuffle, vote };
unsigned barrier(bool predicate, Site);  // all threads of the block; how many brought a true predicate
uint64_t shuffle(unsigned mask, uint64_t value, unsigned source_lane, Site);
unsigned vote(unsigned mask, bool predicate, Site);
void syncwarp(unsigned mask, Site);
void fence();
void maybe_yield();  // a point where a random schedule may change threads
unsigned lane_id();
[[noreturn]] void trap(const char* what, Site);

template <size_t Bytes>
using Bits = std::conditional_t<
    Bytes == 8, uint64_t,
    std::conditional_t<Bytes == 4, uint32_t, std::conditional_t<Bytes == 2, uint16_t, uint8_t>>>;
template <class T> T shuffle_value(unsigned mask, T value, unsigned source_lane, Site site) {
  static_assert(sizeof(T) <= 8 && std::has_single_bit(sizeof(T)) && std::is_trivially_copyable_v<T>);
  using U = Bits<sizeof(T)>;
  return __builtin_bit_cast(T,
                            static_cast<U>(shuffle(mask, __builtin_bit_cast(U, value), source_lane, site)));
}
inline unsigned group_begin(int width) { return lane_id() & ~static_cast<unsigned>(width - 1); }

// Through std::atomic_ref, so that each sanitizer and our own checker understand it.
template <class T, class F> T atomic_update(T* p, F f) {
  maybe_yield();
  using U = Bits<sizeof(T)>;
  std::atomic_ref<U> cell(*reinterpret_cast<U*>(p));
  U old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(
      old, __builtin_bit_cast(U, static_cast<T>(f(__builtin_bit_cast(T, old)))), std::memory_order_relaxed)) {
  }
  return __builtin_bit_cast(T, old);
}

}  // namespace simt

// ---- barriers and warp collectives
// -----------------------------------------------------------------------------
inline void __syncthreads(simt::Site s = simt::here()) { simt::barrier(false, s); }
inline int __syncthreads_count(int p, simt::Site s = simt::here()) {
  return static_cast<int>(simt::barrier(p != 0, s));
}
inline int __syncthreads_or(int p, simt::Site s = simt::here()) { return simt::barrier(p != 0, s) != 0; }
inline int __syncthreads_and(int p, simt::Site s = simt::here()) { return simt::barrier(p == 0, s) == 0; }
inline void __syncwarp(unsigned mask = ~0u, simt::Site s = simt::here()) { simt::syncwarp(mask, s); }
inline void __threadfence() { simt::fence(); }
inline void __threadfence_block() {}  // blocks see nothing of each other through it

template <class T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32, simt::Site s = simt::here()) {
  const unsigned lane = simt::group_begin(width) + (unsigned(source) & unsigned(width - 1));
  return simt::shuffle_value(mask, v, lane, s);
}
template <class T> T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32, simt::Site s = simt::here()) {
  // A partner in a later group of `width` lanes leaves the own value, as on the device.
  const unsigned lane = simt::lane_id() ^ unsigned(x);
  return simt::shuffle_value(mask, v,
                             lane < simt::group_begin(width) + unsigned(width) ? lane : simt::lane_id(), s);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, simt::Site s = simt::here()) {
  const unsigned lane = simt::lane_id() + delta;
  return simt::shuffle_value(mask, v,
                             lane < simt::group_begin(width) + unsigned(width) ? lane : simt::lane_id(), s);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, simt::Site s = simt::here()) {
  const unsigned me = simt::lane_id();
  return simt::shuffle_value(mask, v, me >= simt::group_begin(width) + delta ? me - delta : me, s);
}
inline unsigned __ballot_sync(unsigned mask, int p, simt::Site s = simt::here()) {
  return simt::vote(mask, p != 0, s);
}
inline int __any_sync(unsigned mask, int p, simt::Site s = simt::here()) {
  return simt::vote(mask, p != 0, s) != 0;
}
inline int __all_sync(unsigned mask, int p, simt::Site s = simt::here()) {
  return simt::vote(mask, p == 0, s) == 0;
}
inline unsigned __activemask(simt::Site s = simt::here()) {
  simt::trap("__activemask depends on the schedule", s);
}

// ---- atomics
// ---------------------------------------------------------------------------------------------------
template <class T> T atomicAdd(T* p, std::type_identity_t<T> v) {
  return simt::atomic_update(p, [=](T old) { return old + v; });
}
template <class T> T atomicMax(T* p, std::type_identity_t<T> v) {
  return simt::atomic_update(p, [=](T old) { return old < v ? v : old; });
}
template <class T> T atomicMin(T* p, std::type_identity_t<T> v) {
  return simt::atomic_update(p, [=](T old) { return v < old ? v : old; });
}
template <class T> T atomicOr(T* p, std::type_identity_t<T> v) {
  return simt::atomic_update(p, [=](T old) { return old | v; });
}
template <class T> T atomicExch(T* p, std::type_identity_t<T> v) {
  return simt::atomic_update(p, [=](T) { return v; });
}
template <class T> T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return simt::atomic_update(p, [=](T old) { return old == expected ? v : old; });
}

// ---- memory hints, bits and mathematics
// --------------------------------------------------------------------------
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> void __stcs(T* p, std::type_identity_t<T> v) { *p = v; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
template <class A, class B> constexpr auto min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B> constexpr auto max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(a) < C(b) ? C(b) : C(a);
}
