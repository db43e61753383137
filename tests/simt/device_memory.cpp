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
constexpr size_t kAlign = 256;                 // as cudaMalloc promises
constexpr size_t kGap = 256;                   // between allocations, so that an overrun meets no neighbour
constexpr size_t kPage = 64 << 10;

struct Arena {
  char* base = nullptr;
  size_t used = 0;  // bytes from base that were handed out, gaps included
  size_t open = 0;  // bytes from base that are accessible now
  size_t in_use = 0;
  int accesses = 0;
  unsigned count = 0;
  std::map<const char*, Allocation> allocations;  // by begin; freed ones stay, to be named in errors
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

void protect() {
  const size_t wanted = arena.accesses ? round_up(arena.used, kPage) : 0;
  if (wanted > arena.open) mprotect(arena.base + arena.open, wanted - arena.open, PROT_READ | PROT_WRITE);
  if (wanted < arena.open) mprotect(arena.base + wanted, arena.open - wanted, PROT_NONE);
  arena.open = wanted;
}

}  // namespace

DeviceAccess::DeviceAccess() {
  std::lock_guard guard(Machine::lock());
  ++arena.accesses;
  protect();
}

DeviceAccess::~DeviceAccess() {
  std::lock_guard guard(Machine::lock());
  --arena.accesses;
  protect();
}

cudaError_t allocate(void** p, size_t bytes) {
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  const size_t taken = round_up(bytes, kAlign) + kGap;
  if (!reserve() || bytes > options().device_bytes - std::min(arena.in_use, options().device_bytes) ||
      taken > kReserved - arena.used)
    return cudaErrorMemoryAllocation;
  if (arena.used == 0) arena.used = kGap;
  Allocation a{arena.base + arena.used, bytes, arena.count++, false};
  arena.used += taken, arena.in_use += bytes;
  DeviceAccess access;
  std::memset(a.begin, kPoison, bytes);
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(a.begin - kGap, kGap);
  __asan_poison_memory_region(a.begin + bytes, taken - bytes);
#endif
  check::add_region(a.begin, bytes, check::Space::global, "cudaMalloc");
  arena.allocations[a.begin] = a;
  *p = a.begin;
  return cudaSuccess;
}

cudaError_t release(void* p) {
  if (!p) return cudaSuccess;
  const auto it = arena.allocations.find(static_cast<char*>(p));
  if (it == arena.allocations.end() || it->second.freed) return cudaErrorInvalidValue;
  Allocation& a = it->second;
  a.freed = true, arena.in_use -= a.bytes;
  check::remove_region(a.begin);
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(a.begin, a.bytes);
#endif
  char* first =
      arena.base + round_up(size_t(a.begin - arena.base), kPage);  // whole pages go back to the system
  const auto whole = (a.begin + a.bytes - first) / std::ptrdiff_t{kPage} * std::ptrdiff_t{kPage};
  if (whole > 0) madvise(first, static_cast<size_t>(whole), MADV_DONTNEED);
  return cudaSuccess;
}

size_t bytes_in_use() { return arena.in_use; }

bool is_device_address(const void* p) { return arena.base && p >= arena.base && p < arena.base + kReserved; }

std::optional<Allocation> find_allocation(const void* p) {
  if (!is_device_address(p)) return std::nullopt;
  const auto it = arena.allocations.upper_bound(static_cast<const char*>(p));
  if (it == arena.allocations.begin()) return std::nullopt;
  return std::prev(it)->second;
}

}  // namespace simt
