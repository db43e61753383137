// SPDX-License-Identifier: Apache-2.0
// The memory checker: bounds, alignment, uninitialised reads, and races within a block, between blocks and
// between lanes of a warp. It works when the kernels are compiled with -fsanitize=thread and SIMT_CHECK is
// defined; libtsan is not linked: tsan_hooks.cpp has the functions that the compiler calls before each
// access.
#pragma once
#include <cstddef>
#include <cstdint>

namespace simt::check {

enum class Space : uint8_t { global, shared, arguments };

#ifdef SIMT_CHECK
inline constexpr bool kEnabled = true;
void add_region(const void* p, size_t bytes, Space space, const char* name);
void remove_region(const void* p);
// A copy or fill by the runtime: initialised as `from` is (all of it when null, i.e. from the host).
void copied(const void* to, const void* from, size_t bytes);
void launch_begins(const void* arguments, size_t bytes);
void launch_ends();
void block_begins(unsigned threads);
void barrier();                                 // all threads of the block have come
void warp_sync(unsigned warp, unsigned lanes);  // these lanes have come to a __syncwarp
void fence();                                   // __threadfence by the running thread
// The running thread is about to access; `pc` is the return address of the hook.
void access(const void* p, size_t bytes, bool write, bool atomic, const void* pc);
#else
inline constexpr bool kEnabled = false;
inline void add_region(const void*, size_t, Space, const char*) {}
inline void remove_region(const void*) {}
inline void copied(const void*, const void*, size_t) {}
inline void launch_begins(const void*, size_t) {}
inline void launch_ends() {}
inline void block_begins(unsigned) {}
inline void barrier() {}
inline void warp_sync(unsigned, unsigned) {}
inline void fence() {}
#endif

}  // namespace simt::check
