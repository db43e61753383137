// SPDX-License-Identifier: Apache-2.0
// The scheduler: one fiber for each CUDA thread of a block, blocks one after another, all on the calling OS
// thread.
#include "tests/simt/engine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/simt/check.h"
#include "tests/simt/device_memory.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

// The names that simt.h declares const, writable here. uint3 and not dim3: a class with a constructor would
// be read through instrumented code.
thread_local constinit uint3 thread_index asm("threadIdx"){}, block_index asm("blockIdx"){};
thread_local constinit uint3 block_extent asm("blockDim"){}, grid_extent asm("gridDim"){};

namespace simt {

Machine machine;

std::recursive_mutex& Machine::lock() {
  static std::recursive_mutex mutex;
  return mutex;
}

Options& options() {
  static Options options = [] {
    Options o;
    if (const char* seed = std::getenv("SIMT_SEED")) o.seed = std::strtoull(seed, nullptr, 0);
    if (const char* text = std::getenv("SIMT_ORDER")) {
      const std::string_view order = text;
      if (order == "forward") {
        o.order = Order::forward;
      } else if (order == "reverse") {
        o.order = Order::reverse;
      } else if (order != "random") {
        throw Error("SIMT_ORDER must be forward, reverse or random, not " + std::string(order));
      }
    }
    return o;
  }();
  return options;
}

uint64_t random64() {  // xorshift64*, Vigna 2016
  uint64_t& s = machine.random_state;
  s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
  return s * 0x2545F4914F6CDD1Dull;
}

// ---- messages
// --------------------------------------------------------------------------------------------------
namespace {
struct Index {
  uint3 i;
};
std::ostream& operator<<(std::ostream& out, Index v) {
  return out << '(' << v.i.x << ',' << v.i.y << ',' << v.i.z << ')';
}
}  // namespace

std::ostream& operator<<(std::ostream& out, Hex h) {
  const auto flags = out.flags();
  out << "0x" << std::hex << h.value;
  out.flags(flags);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Site& site) {
  const char* slash = std::strrchr(site.file, '/');
  return out << (slash ? slash + 1 : site.file) << ':' << site.line;
}

std::string where() {
  std::ostringstream out;
  out << "kernel " << machine.work.kernel << ", block " << Index{block_index};
  if (running) out << ", thread " << Index{running->index};
  out << ": ";
  return out.str();
}

void set_error(const std::string& message) {
  if (machine.error.empty()) machine.error = where() + message;
}

void leave_kernel() {
  running->fiber->leave(true);
  __builtin_unreachable();
}

void trap(const char* what, Site site) { fail(what, ", ", site); }

// ---- schedule
// -------------------------------------------------------------------------------------------------- The
// runnable thread of highest priority runs. Random order draws a thread's priority when it wakes up: some
// threads then run far ahead of others, which a uniform pick at every switch would hardly ever show.
void wake(Thread& t) {
  t.state = Thread::State::ready;
  unsigned priority = t.id;
  if (machine.order == Order::forward) priority = ~t.id;
  if (machine.order == Order::random) priority = static_cast<unsigned>(random64() >> 32);
  machine.ready.emplace_back(priority, t.id);
  std::push_heap(machine.ready.begin(), machine.ready.end());
}

void pause() { running->fiber->leave(false); }

void yield_in(unsigned n) {
  if (machine.order != Order::random || random64() % n) return;
  wake(*running);
  pause();
}

void maybe_yield() {
  if (!running) return;
  InEngine inside;
  yield_in(4);
}

unsigned lane_id() { return running->lane(); }

namespace {

void thread_body() {
  Fiber::arrived();
  in_engine = false;
  try {
    machine.work.call(machine.work.closure.get());
  } catch (const std::exception& e) {
    fail("an exception left the kernel: ", e.what());
  }
  in_engine = true;
  running->state = Thread::State::done;
  ++machine.done;
  thread_exits(*running);
  leave_kernel();
}

std::string census() {  // who waits where, as ranges of linear thread numbers
  std::ostringstream out;
  const auto& threads = machine.threads;
  const auto alike = [](const Thread& a, const Thread& b) {
    return a.state == b.state && (a.state == Thread::State::done || a.site == b.site) &&
           a.meeting == b.meeting;
  };
  for (size_t first = 0, end = 0; first < threads.size(); first = end) {
    const Thread& t = threads[first];
    while (end < threads.size() && alike(threads[end], t)) ++end;
    out << "\n  threads " << first << ".." << end - 1;
    if (t.state == Thread::State::done) {
      out << " have exited";
    } else if (t.state == Thread::State::at_barrier) {
      out << " wait at __syncthreads, " << t.site;
    } else {
      out << " wait in a warp collective with mask " << Hex{t.meeting->mask} << ", " << t.site;
    }
  }
  return out.str();
}

// ---- shared memory
// -----------------------------------------------------------------------------------------------
constexpr size_t kStaticSharedBytes = 48 << 10;  // of every architecture
constexpr size_t kSharedBytes = 163 << 10;       // with opt-in, on sm_80: the smallest that we compile for

}  // namespace

SharedBlock::SharedBlock(size_t size, size_t align, const char* name)
    : size_(size), raw_(new char[size + align]) {
  void* p = raw_.get();
  size_t space = size + align;
  data_ = static_cast<char*>(std::align(align, size, p, space));
  std::memset(data_, kPoison, size);
#ifdef __SANITIZE_ADDRESS__
  __asan_poison_memory_region(raw_.get(), size + align);
  __asan_unpoison_memory_region(data_, size);
#endif
  check::add_region(data_, size_, check::Space::shared, name);
}

SharedBlock::~SharedBlock() { check::remove_region(data_); }

void* static_shared(const void* key, const char* name, size_t size, size_t align) {
  InEngine inside;
  for (auto& [k, block] : machine.statics)
    if (k == key) return block->data();
  machine.static_bytes += size;
  if (machine.static_bytes > kStaticSharedBytes) fail("static shared memory exceeds 48 KiB at ", name);
  machine.statics.emplace_back(key, std::make_unique<SharedBlock>(size, align, name));
  return machine.statics.back().second->data();
}

void* dynamic_shared() {
  if (!machine.dynamic) fail("DYNAMIC_SHARED in a kernel that was launched with smem = 0");
  return machine.dynamic->data();
}

// ---- launch
// ------------------------------------------------------------------------------------------------------
namespace {

constexpr size_t kDynamicSharedAlign = 128;

void start_block(unsigned threads) {
  Machine& m = machine;
  m.statics.clear(), m.dynamic.reset(), m.static_bytes = 0;
  if (m.work.smem) m.dynamic = std::make_unique<SharedBlock>(m.work.smem, kDynamicSharedAlign, "dynamic");
  m.ready.clear(), m.open.clear(), m.open.resize((threads + 31) / 32);
  m.done = m.waiting = m.votes = 0;
  m.threads.assign(threads, {});
  while (m.fibers.size() < threads) m.fibers.push_back(std::make_unique<Fiber>());
  check::block_begins(threads);
  const dim3& extent = m.work.block;
  for (unsigned i = 0; i < threads; ++i) {
    Thread& t = m.threads[i];
    t.id = i;
    t.index = {i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y};
    t.fiber = m.fibers[i].get();
    t.fiber->start(thread_body);
    wake(t);
  }
}

void run_block(unsigned threads) {
  Machine& m = machine;
  start_block(threads);
  while (!m.ready.empty()) {
    Thread& t = m.threads[m.ready.front().second];
    std::pop_heap(m.ready.begin(), m.ready.end());
    m.ready.pop_back();
    running = &t, thread_index = t.index;
    t.fiber->enter();
    running = nullptr;
    if (!m.error.empty()) throw Error(m.error);
  }
  if (m.done != threads) throw Error(where() + "deadlock (divergent barrier or collective):" + census());
}

// Leaves no trace of a launch, whether it ended or failed.
struct Cleanup {
  ~Cleanup() {
    Machine& m = machine;
    if (m.done != m.threads.size()) m.fibers.clear();  // abandoned ones among them
    m.statics.clear(), m.dynamic.reset(), m.threads.clear();
    check::launch_ends();
    in_engine = false;
    block_index = thread_index = {};
  }
};

bool launchable(const Work& w) {
  const uint64_t threads = uint64_t{w.block.x} * w.block.y * w.block.z;
  return threads > 0 && threads <= 1024 && w.block.z <= 64 && w.grid.x > 0 && w.grid.y > 0 && w.grid.z > 0 &&
         w.grid.x <= 0x7fffffff && w.grid.y <= 65535 && w.grid.z <= 65535 && w.smem <= kSharedBytes;
}

}  // namespace

void run(const Work& work) {
  Machine& m = machine;
  m.work = work, m.order = options().order, m.error.clear();
  m.random_state = (options().seed + 1) * 0x9E3779B97F4A7C15ull;
  block_extent = {work.block.x, work.block.y, work.block.z};
  grid_extent = {work.grid.x, work.grid.y, work.grid.z};
  DeviceAccess access;
  check::launch_begins(work.closure.get(), work.closure_bytes);
  Cleanup cleanup;
  const unsigned threads = work.block.x * work.block.y * work.block.z;
  for (unsigned z = 0; z < work.grid.z; ++z)
    for (unsigned y = 0; y < work.grid.y; ++y)
      for (unsigned x = 0; x < work.grid.x; ++x) {
        block_index = {x, y, z};
        run_block(threads);
      }
}

cudaError_t enqueue(Work work) {
  if (running) fail("launch inside a kernel");
  std::lock_guard guard(Machine::lock());
  if (!launchable(work)) return remember(cudaErrorInvalidConfiguration);
  const cudaStream_t stream = work.stream;
  submit(stream, [work = std::move(work)] { run(work); });
  return cudaSuccess;
}

}  // namespace simt

#ifdef __SANITIZE_ADDRESS__
// Sanitizer reports say which kernel, block and thread it was.
extern "C" void __asan_on_error() {
  if (simt::running) fprintf(stderr, "simt: %s\n", simt::where().c_str());
}
extern "C" void __ubsan_on_report() { __asan_on_error(); }
#endif
