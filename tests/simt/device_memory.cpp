// SPDX-License-Identifier: Apache-2.0
// Device memory of the emulator: one reserved range of addresses, handed out once each, inaccessible while no
// kernel and no copy runs. So a host read of a device pointer, and any use after free, is a fault and not a
// lucky hit.
#include "tests/simt/device_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simt/check.h"
#include "tests/simt/engine.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace simt {
namespace {

constexpr size_t kReserved = size_t{1} << 40;  // addresses, not memory
constexpr size_t kPage = 64 << 10;             // a multiple of any page size: each block has pages of its own
constexpr size_t kGap = 256;                   // behind each block, so that an overrun meets no neighbour

struct Arena {
  char* base = nullptr;
  size_t used = 0;  // bytes from base that were handed out
  size_t in_use = 0;
  int accesses = 0;
  unsigned count = 0;
  std::map<const char*, Allocation> live, freed;  // by begin; freed ones can still be named in errors
  struct sigaction previous {};
};
Arena arena;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// A fault inside the arena is host code that touched device memory: say so, then let the default handler end
// it.
void on_fault(int signal, siginfo_t* info, void*) {
  const auto* p = static_cast<const char*>(info->si_addr);
  if (p >= arena.base && p < arena.base + kReserved) {
    static constexpr char text[] =
        "simt: host code touched device memory; only kernels and cudaMemcpy may do that\n";
    [[maybe_unused]] const auto written = write(2, text, sizeof text - 1);
  }
  sigaction(signal, &arena.previous, nullptr);  // the faulting instruction runs again
}

bool reserve() {
  if (arena.base) return true;
  void* p = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  arena.base = static_cast<char*>(p);
  struct sigaction action {};
  action.sa_sigaction = on_fault, action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &arena.previous);
  return true;
}

size_t span(const Allocation& a) { return round_up(a.bytes + kGap, kPage); }

void protect(const Allocation& a) {
  mprotect(a.begin, span(a), arena.accesses ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace

DeviceAccess::DeviceAccess() {
  std::lock_guard guard(Machine::lock());
  if (arena.accesses++ > 0) return;
  for (const auto& [begin, a] : arena.live) protect(a);
}

DeviceAccess::~DeviceAccess() {
  std::lock_guard guard(Machine::lock());
  if (--arena.accesses > 0) return;
  for (const auto& [begin, a] : arena.live) protect(a);
}

cudaError_t allocate(void** p, size_t bytes) {
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (!reserve() || bytes > options().device_bytes - std::min(arena.in_use, options().device_bytes) ||
      round_up(bytes + kGap, kPage) > kReserved - arena.used)
    return cudaErrorMemoryAllocation;
  const Allocation a{arena.base + arena.used, bytes, arena.count++, false};
  arena.used += span(a), arena.in_use += bytes;
  arena.live[a.begin] = a;
  DeviceAccess access;
  std::memset(a.begin, kPoison, bytes);
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(a.begin + bytes, span(a) - bytes);
#endif
  check::add_region(a.begin, bytes, check::Space::global, "cudaMalloc");
  *p = a.begin;
  return cudaSuccess;
}

cudaError_t release(void* p) {
  if (!p) return cudaSuccess;
  const auto it = arena.live.find(static_cast<char*>(p));
  if (it == arena.live.end()) return cudaErrorInvalidValue;
  Allocation a = it->second;
  arena.live.erase(it);
  a.freed = true, arena.in_use -= a.bytes;
  arena.freed[a.begin] = a;
  check::remove_region(a.begin);
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(a.begin, a.bytes);
#endif
  // The pages go back to the system, the addresses stay reserved and fault from now on.
  mmap(a.begin, span(a), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return cudaSuccess;
}

size_t bytes_in_use() { return arena.in_use; }

bool is_device_address(const void* p) { return arena.base && p >= arena.base && p < arena.base + kReserved; }

std::optional<Allocation> find_allocation(const void* p) {
  for (const auto* map : {&arena.live, &arena.freed}) {
    const auto it = map->upper_bound(static_cast<const char*>(p));
    if (it != map->begin() && p < std::prev(it)->first + span(std::prev(it)->second))
      return std::prev(it)->second;
  }
  return std::nullopt;
}

}  // namespace simt
