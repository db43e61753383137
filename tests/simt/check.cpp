// SPDX-License-Identifier: Apache-2.0
// The memory checker's rules. For each byte of device and shared memory it keeps the last write and two
// reads, and asks before every access whether they happened before it.
#include "tests/simt/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

#include "tests/simt/device_memory.h"
#include "tests/simt/engine.h"
#include "tests/simt/source_line.h"

namespace simt::check {
namespace {

// Who touched a byte, and when: blocks are numbered over all launches, from 1; epoch counts the block's
// barriers; clock is the thread's own component of its warp's vector clock.
struct Access {
  uint32_t block = 0, pc = 0;
  uint16_t thread = 0, epoch = 0, clock = 0;
  bool atomic = false;
};
// The last two reads by different threads: the later writer differs from one of them at least.
struct Cell {
  Access write, read[2];
  bool initialised = false;
};

// Cells live in zeroed pages that the system gives on first touch; all-zero is a Cell without accesses.
class Cells {
 public:
  explicit Cells(size_t n) : bytes_(n * sizeof(Cell)) {
    void* p =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    cells_ = static_cast<Cell*>(p);
  }
  Cells(Cells&& other) noexcept : bytes_(other.bytes_), cells_(std::exchange(other.cells_, nullptr)) {}
  ~Cells() {
    if (cells_) munmap(cells_, bytes_);
  }
  Cell& operator[](size_t i) { return cells_[i]; }

 private:
  size_t bytes_;
  Cell* cells_ = nullptr;
};

struct Region {
  uintptr_t begin, end;
  Space space;
  const char* name;
  Cells cells;
};

struct State {
  std::map<uintptr_t, Region> regions;  // by begin
  Region* latest = nullptr;             // most accesses hit the region of the one before
  const void* arguments = nullptr;
  uint32_t block = 0, first_block = 1;
  uint16_t epoch = 0;
  std::vector<std::array<uint16_t, 32>> clocks;   // [thread][lane]: what the thread knows of its warp
  std::unordered_map<uint64_t, uint16_t> fences;  // (block, thread) -> its clock at its latest __threadfence
};
State state;

uint64_t fence_key(uint32_t block, unsigned thread) { return uint64_t{block} << 16 | thread; }

Region* find_region(uintptr_t a) {
  if (state.latest && a >= state.latest->begin && a < state.latest->end) return state.latest;
  auto it = state.regions.upper_bound(a);
  if (it == state.regions.begin() || a >= (--it)->second.end) return nullptr;
  return state.latest = &it->second;
}

// ---- parts of messages (trivial, see fail)
// ---------------------------------------------------------------------------
struct Place {  // "shared red+4"
  const Region& region;
  uintptr_t address;
};
std::ostream& operator<<(std::ostream& out, const Place& p) {
  return out << (p.region.space == Space::shared ? "shared " : "global ") << p.region.name << '+'
             << p.address - p.region.begin;
}

struct Who {
  const Access& access;
};
std::ostream& operator<<(std::ostream& out, const Who& w) {
  out << "thread " << w.access.thread;
  if (w.access.block != state.block) out << " of block #" << w.access.block - state.first_block;
  return out;
}

struct Neighbourhood {  // what lies around an address that belongs to no region
  uintptr_t address;
  size_t bytes;
};
std::ostream& operator<<(std::ostream& out, const Neighbourhood& n) {
  constexpr uintptr_t kNear = 256;
  for (const auto& [begin, r] : state.regions) {
    if (r.space == Space::arguments) continue;
    const size_t size = r.end - r.begin;
    if (n.address >= r.end && n.address - r.end < kNear)
      return out << n.address - r.end << " bytes past the end of " << r.name << " (" << size << " bytes)";
    if (n.address < r.end && n.address + n.bytes > r.end)
      return out << "straddles the end of " << r.name << " (" << size << " bytes)";
    if (n.address < begin && begin - n.address <= kNear)
      return out << begin - n.address << " bytes before " << r.name << " (" << size << " bytes)";
  }
  const auto a = find_allocation(reinterpret_cast<const void*>(n.address));
  if (a && a->freed) return out << "in cudaMalloc memory that was freed (" << a->bytes << " bytes)";
  return out << "no device memory there: a host pointer?";
}

// ---- rules
// ------------------------------------------------------------------------------------------------------- `a`
// happened before the present access of the running thread.
bool ordered(const Access& a) {
  const Thread& me = *running;
  if (a.block < state.first_block) return true;  // an earlier launch
  if (a.block != state.block) {                  // one-sided: the writer's fence is enough
    const auto fenced = state.fences.find(fence_key(a.block, a.thread));
    return fenced != state.fences.end() && fenced->second > a.clock;
  }
  if (a.thread == me.id || a.epoch != state.epoch) return true;
  return a.thread / 32 == me.warp() && state.clocks[me.id][a.thread % 32] >= a.clock;
}

bool conflicts(const Access& old, bool atomic) {
  return old.block != 0 && !(atomic && old.atomic) && !ordered(old);
}

[[noreturn]] void report_race(const Place& place, const Access& old, bool old_is_write, const Access& now,
                              bool write, size_t bytes) {
  fail("race on ", place, " (", bytes, " bytes): ", write ? "write at " : "read at ", SourceLine{now.pc},
       "\n  against ", old_is_write ? "write" : "read", " by ", Who{old}, " at ", SourceLine{old.pc});
}

void check_byte(Region& region, uintptr_t address, const Access& now, bool write, size_t bytes) {
  Cell& cell = region.cells[address - region.begin];
  const Place place{region, address};
  if (!write && !cell.initialised) fail("read of uninitialised ", place, " at ", SourceLine{now.pc});
  if (conflicts(cell.write, now.atomic)) report_race(place, cell.write, true, now, write, bytes);
  if (write) {
    for (const Access& read : cell.read)
      if (conflicts(read, now.atomic)) report_race(place, read, false, now, true, bytes);
    cell.write = now, cell.initialised = true;
    if (!now.atomic) cell.read[0] = cell.read[1] = {};
    return;
  }
  const bool same = cell.read[0].block == now.block && cell.read[0].thread == now.thread;
  if (cell.read[0].block != 0 && !same) cell.read[1] = cell.read[0];
  cell.read[0] = now;
}

}  // namespace

void access(const void* p, size_t bytes, bool write, bool atomic, const void* pc) {
  if (!running || in_engine || running->fiber->owns(p)) return;
  InEngine inside;
  const auto address = reinterpret_cast<uintptr_t>(p);
  const uint32_t where = program_offset(pc);
  Region* region = find_region(address);
  if (!region && !write && in_program(p)) return;  // a constant or a table
  if (!region || address + bytes > region->end)
    fail("invalid ", write ? "write" : "read", " of ", bytes, " bytes at ", SourceLine{where}, ": ",
         Neighbourhood{address, bytes});
  if (region->space == Space::arguments) {
    if (write) fail("write to the kernel's arguments at ", SourceLine{where});
    return;
  }
  if (bytes <= 16 && address % bytes) fail("misaligned access of ", bytes, " bytes at ", SourceLine{where});
  yield_in(64);
  const Thread& me = *running;
  const Access now{
      state.block, where, static_cast<uint16_t>(me.id), state.epoch, state.clocks[me.id][me.lane()], atomic};
  for (size_t i = 0; i < bytes; ++i) check_byte(*region, address + i, now, write, bytes);
}

// ---- what the engine and the runtime tell
// ----------------------------------------------------------------------------
void add_region(const void* p, size_t bytes, Space space, const char* name) {
  const auto begin = reinterpret_cast<uintptr_t>(p);
  const size_t cells = space == Space::arguments ? 1 : bytes;
  state.regions.emplace(begin, Region{begin, begin + bytes, space, name, Cells(cells)});
}

void remove_region(const void* p) {
  state.regions.erase(reinterpret_cast<uintptr_t>(p));
  state.latest = nullptr;
}

void copied(const void* to, const void* from, size_t bytes) {
  const auto target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  Region* source_region = from ? find_region(source) : nullptr;
  Region* region = find_region(target);
  for (size_t i = 0; i < bytes; ++i)
    region->cells[target + i - region->begin].initialised =
        !source_region || source_region->cells[source + i - source_region->begin].initialised;
}

void launch_begins(const void* arguments, size_t bytes) {
  state.first_block = state.block + 1, state.fences.clear();
  state.arguments = arguments;
  add_region(arguments, bytes, Space::arguments, "kernel arguments");
}

void launch_ends() { remove_region(state.arguments); }

void block_begins(unsigned threads) {
  ++state.block, state.epoch = 1;
  state.clocks.assign(threads, {});
  for (unsigned i = 0; i < threads; ++i) state.clocks[i][i % 32] = 1;
}

void barrier() {
  if (++state.epoch == 0) fail("more than 65535 barriers in one block: the checker cannot count them");
}

void warp_sync(unsigned warp,
               unsigned lanes) {  // each learns what the others know, and starts a period of its own
  std::array<uint16_t, 32> joined{};
  for (unsigned l = 0; l < 32; ++l)
    if (lanes >> l & 1)
      for (unsigned i = 0; i < 32; ++i) joined[i] = std::max(joined[i], state.clocks[warp * 32 + l][i]);
  for (unsigned l = 0; l < 32; ++l)
    if (lanes >> l & 1) {
      auto& clock = state.clocks[warp * 32 + l];
      clock = joined;
      ++clock[l];
    }
}

void fence() {
  const Thread& me = *running;
  state.fences[fence_key(state.block, me.id)] = ++state.clocks[me.id][me.lane()];
}

}  // namespace simt::check
