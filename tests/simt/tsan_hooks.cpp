// SPDX-License-Identifier: Apache-2.0
// What -fsanitize=thread makes the compiler call, answered by our checker in place of libtsan. Outside of
// kernels the atomics must still be atomics: host code of the same files runs on several threads.
#include <cstdint>

#include "tests/simt/check.h"

namespace {
constexpr int kOrder = __ATOMIC_SEQ_CST;  // at least as strong as any that the caller asks for
}

#define SIMT_ACCESS(p, n, write, atomic) simt::check::access(p, n, write, atomic, __builtin_return_address(0))

#define SIMT_PLAIN(n)                                                         \
  void __tsan_read##n(void* p) { SIMT_ACCESS(p, n, false, false); }           \
  void __tsan_write##n(void* p) { SIMT_ACCESS(p, n, true, false); }           \
  void __tsan_unaligned_read##n(void* p) { SIMT_ACCESS(p, n, false, false); } \
  void __tsan_unaligned_write##n(void* p) { SIMT_ACCESS(p, n, true, false); } \
  void __tsan_volatile_read##n(void* p) { SIMT_ACCESS(p, n, false, false); }  \
  void __tsan_volatile_write##n(void* p) { SIMT_ACCESS(p, n, true, false); }

#define SIMT_FETCH(bits, T, operation)                        \
  T __tsan_atomic##bits##_fetch_##operation(T* p, T v, int) { \
    SIMT_ACCESS(p, sizeof(T), true, true);                    \
    return __atomic_fetch_##operation(p, v, kOrder);          \
  }

#define SIMT_ATOMIC(bits, T)                                                            \
  T __tsan_atomic##bits##_load(const T* p, int) {                                       \
    SIMT_ACCESS(p, sizeof(T), false, true);                                             \
    return __atomic_load_n(p, kOrder);                                                  \
  }                                                                                     \
  void __tsan_atomic##bits##_store(T* p, T v, int) {                                    \
    SIMT_ACCESS(p, sizeof(T), true, true);                                              \
    __atomic_store_n(p, v, kOrder);                                                     \
  }                                                                                     \
  T __tsan_atomic##bits##_exchange(T* p, T v, int) {                                    \
    SIMT_ACCESS(p, sizeof(T), true, true);                                              \
    return __atomic_exchange_n(p, v, kOrder);                                           \
  }                                                                                     \
  int __tsan_atomic##bits##_compare_exchange_strong(T* p, T* expected, T v, int, int) { \
    SIMT_ACCESS(p, sizeof(T), true, true);                                              \
    return __atomic_compare_exchange_n(p, expected, v, false, kOrder, kOrder);          \
  }                                                                                     \
  int __tsan_atomic##bits##_compare_exchange_weak(T* p, T* expected, T v, int, int) {   \
    SIMT_ACCESS(p, sizeof(T), true, true);                                              \
    return __atomic_compare_exchange_n(p, expected, v, false, kOrder, kOrder);          \
  }                                                                                     \
  T __tsan_atomic##bits##_compare_exchange_val(T* p, T expected, T v, int, int) {       \
    SIMT_ACCESS(p, sizeof(T), true, true);                                              \
    __atomic_compare_exchange_n(p, &expected, v, false, kOrder, kOrder);                \
    return expected;                                                                    \
  }                                                                                     \
  SIMT_FETCH(bits, T, add)                                                              \
  SIMT_FETCH(bits, T, sub)                                                              \
  SIMT_FETCH(bits, T, and)                                                              \
  SIMT_FETCH(bits, T, or)                                                               \
  SIMT_FETCH(bits, T, xor)                                                              \
  SIMT_FETCH(bits, T, nand)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, unsigned long n) { SIMT_ACCESS(p, n, false, false); }
void __tsan_write_range(void* p, unsigned long n) { SIMT_ACCESS(p, n, true, false); }
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(kOrder); }
void __tsan_atomic_signal_fence(int) {}

SIMT_PLAIN(1)
SIMT_PLAIN(2)
SIMT_PLAIN(4)
SIMT_PLAIN(8)
SIMT_PLAIN(16)
SIMT_ATOMIC(8, uint8_t)
SIMT_ATOMIC(16, uint16_t)
SIMT_ATOMIC(32, uint32_t)
SIMT_ATOMIC(64, uint64_t)

}  // extern "C"
