// SPDX-License-Identifier: Apache-2.0
// SIMT emulator, inside: the state shared by the scheduler (engine.cpp), the barriers and warp collectives
// (collectives.cpp), the memory checker (check.cpp) and the fake CUDA runtime (cudart.cpp, streams.cpp).
#pragma once
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/simt/fiber.h"
#include "tests/simt/simt.h"

namespace simt {

// A meeting of the lanes of one warp at one collective: keyed by (op, mask, site), complete when every live
// lane of the mask has come.
struct Meeting {
  Op op{};
  unsigned mask = 0, arrived = 0, left = 0;
  Site site{};
  bool complete = false;
  uint64_t value[32] = {};  // what each lane brought
};

// One CUDA thread.
struct Thread {
  enum class State : uint8_t { ready, at_barrier, in_collective, done };
  Fiber* fiber = nullptr;
  uint3 index{};
  unsigned id = 0;  // linear, within the block
  State state = State::ready;
  Site site{};                 // where it waits
  Meeting* meeting = nullptr;  // at which collective
  unsigned lane() const { return id % 32; }
  unsigned warp() const { return id / 32; }
};

// One block of shared memory, its end exact so that ASan and the checker see an overrun of one byte.
class SharedBlock {
 public:
  SharedBlock(size_t size, size_t align, const char* name);
  ~SharedBlock();
  void* data() const { return data_; }

 private:
  size_t size_;
  std::unique_ptr<char[]> raw_;
  char* data_;
};

// The one emulated device: it runs one block at a time, on the OS thread that holds lock().
struct Machine {
  Work work{};
  Order order{};
  uint64_t random_state = 1;
  std::vector<std::unique_ptr<Fiber>> fibers;  // pool, grows to the largest block
  std::vector<Thread> threads;
  std::vector<std::pair<unsigned, unsigned>> ready;  // heap of (priority, thread)
  unsigned done = 0;

  unsigned waiting = 0, votes = 0, votes_result = 0;  // the barrier
  Site barrier_site{};
  std::vector<std::vector<std::unique_ptr<Meeting>>> open;  // per warp
  std::vector<std::unique_ptr<Meeting>> spare;

  std::vector<std::pair<const void*, std::unique_ptr<SharedBlock>>> statics;  // by key
  std::unique_ptr<SharedBlock> dynamic;
  size_t static_bytes = 0;

  std::string error;  // of the launch that runs

  static std::recursive_mutex& lock();
};
extern Machine machine;

// The CUDA thread that this OS thread is executing, null outside of kernels. While `in_engine` it executes
// the emulator itself, whose accesses are not the kernel's (the linker may merge instrumented templates into
// it).
inline thread_local constinit Thread* running = nullptr;
inline thread_local constinit bool in_engine = false;
struct InEngine {
  InEngine() { in_engine = true; }
  ~InEngine() { in_engine = false; }
};

uint64_t random64();
void wake(Thread&);          // makes it runnable, with a priority as the order demands
void pause();                // lets others run; the running thread has been woken or will be
void yield_in(unsigned n);   // random order only: with probability 1/n, lets others run
void thread_exits(Thread&);  // the meetings that waited for it only are complete
void run(const Work&);       // the whole grid, now

// "kernel k, block (0,0,0), thread (3,0,0): "
std::string where();
// Records the first error of a launch, as where() + message; leave_kernel() then abandons the running fiber.
void set_error(const std::string& message);
[[noreturn]] void leave_kernel();

// Stops the launch. The fiber is abandoned without unwinding, so that nothing that owns memory may live on
// it: hence trivial parts only, which print themselves.
template <class... Parts> [[noreturn]] void fail(const Parts&... parts) {
  static_assert((std::is_trivially_destructible_v<Parts> && ...), "would leak: the fiber is abandoned");
  in_engine = true;
  {
    std::ostringstream text;
    (text << ... << parts);
    set_error(text.str());
  }
  leave_kernel();
}

struct Hex {
  unsigned value;
};
std::ostream& operator<<(std::ostream&, Hex);
std::ostream& operator<<(std::ostream&, const Site&);  // "layernorm.cu:17"

}  // namespace simt
