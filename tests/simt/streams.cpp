// SPDX-License-Identifier: Apache-2.0
// Streams and events of the emulator. In random order work waits in its stream's queue and the heads of
// random streams run, so that a missing wait or synchronisation gives wrong numbers, a race or a use after
// free.
#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simt/device_memory.h"
#include "tests/simt/engine.h"

struct CUevent_st {
  uint64_t recorded = 0;  // ticket of the latest cudaEventRecord
  uint64_t reached = 0;   // latest ticket that its stream has come to
};

struct CUstream_st {
  struct Item {
    std::function<void()> work;
    CUevent_st* event = nullptr;  // runs only when the event has reached the ticket
    uint64_t ticket = 0;
  };
  std::deque<Item> queue;
  bool blocking = true;  // the null stream waits for it
};

namespace simt {
namespace {

struct Streams {
  std::vector<CUstream_st*> all;
  uint64_t tickets = 0;
  uint64_t random_state = 0;
  std::exception_ptr fault;  // met in drain_before_free
};
Streams streams;

uint64_t random_below(
    uint64_t n) {  // Knuth's MMIX generator; apart from the scheduler's, which a launch reseeds
  if (!streams.random_state) streams.random_state = options().seed * 0x9E3779B97F4A7C15ull + 1;
  streams.random_state = streams.random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (streams.random_state >> 33) % n;
}

bool can_run(const CUstream_st* s) {
  return !s->queue.empty() &&
         (!s->queue.front().event || s->queue.front().event->reached >= s->queue.front().ticket);
}

bool step() {  // the head of a random stream that can run; false if there is none
  std::vector<CUstream_st*> candidates;
  std::copy_if(streams.all.begin(), streams.all.end(), std::back_inserter(candidates), can_run);
  if (candidates.empty()) return false;
  CUstream_st* s = candidates[random_below(candidates.size())];
  const auto item = std::move(s->queue.front());
  s->queue.pop_front();
  if (item.work) item.work();
  return true;
}

template <class Condition> void step_until(Condition reached) {
  while (!reached())
    if (!step()) throw Error("streams deadlocked: one waits for an event that nobody records");
}

void rethrow_fault() {
  if (streams.fault) std::rethrow_exception(std::exchange(streams.fault, nullptr));
}

void submit_item(cudaStream_t stream, CUstream_st::Item item) {
  rethrow_fault();
  if (!stream) {
    drain_blocking_streams();
    if (item.event) step_until([&] { return item.event->reached >= item.ticket; });
    if (item.work) item.work();
    return;
  }
  stream->queue.push_back(std::move(item));
  if (options().order != Order::random) return drain(stream);
  while (random_below(4) == 0 && step()) {
  }
}

}  // namespace

void submit(cudaStream_t stream, std::function<void()> work) { submit_item(stream, {std::move(work)}); }

void drain(cudaStream_t stream) {
  rethrow_fault();
  if (stream) return step_until([&] { return stream->queue.empty(); });
  step_until([] {
    return std::all_of(streams.all.begin(), streams.all.end(), [](auto* s) { return s->queue.empty(); });
  });
}

void drain_blocking_streams() {
  rethrow_fault();
  step_until([] {
    return std::all_of(streams.all.begin(), streams.all.end(),
                       [](auto* s) { return s->queue.empty() || !s->blocking; });
  });
}

void drain_before_free() {
  try {
    drain(nullptr);
  } catch (const Error&) {
    streams.fault = std::current_exception();
  }
}

}  // namespace simt

using simt::Machine;
using simt::streams;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  std::lock_guard guard(Machine::lock());
  *stream = new CUstream_st;
  (*stream)->blocking = !(flags & cudaStreamNonBlocking);
  streams.all.push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::lock_guard guard(Machine::lock());
  simt::drain(stream);
  std::erase(streams.all, stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  std::lock_guard guard(Machine::lock());
  stream ? simt::drain(stream) : simt::drain_blocking_streams();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  std::lock_guard guard(Machine::lock());
  simt::drain(nullptr);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  std::lock_guard guard(Machine::lock());
  simt::step_until([&] { return event->reached >= event->recorded; });
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  std::lock_guard guard(Machine::lock());
  const uint64_t ticket = event->recorded = ++streams.tickets;
  simt::submit(stream, [=] { event->reached = std::max(event->reached, ticket); });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  std::lock_guard guard(Machine::lock());
  simt::submit_item(stream, {nullptr, event, event->recorded});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  std::lock_guard guard(Machine::lock());
  simt::step_until([&] { return event->reached >= event->recorded; });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  std::lock_guard guard(Machine::lock());
  return event->reached >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}

}  // extern "C"
