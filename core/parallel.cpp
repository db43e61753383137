// SPDX-License-Identifier: Apache-2.0
#include "tare/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tare/core/error.h"
#include "tare/core/signal_guard.h"

#ifndef TARE_NO_OPENMP
#include <omp.h>
#endif

namespace tare {
namespace {

thread_local bool in_parallel = false;
constexpr int kMostThreads = 1024;  // beyond, the system refuses threads, and OpenMP has no error for it

// The first exception of a parallel region, rethrown by the caller.
class FirstError {
 public:
  void capture() {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

void run_chunk(int64_t chunk, int64_t chunks, int64_t n, FunctionRef<void(int64_t, int64_t)> body,
               FirstError& error) {
  in_parallel = true;
  try {
    body(n * chunk / chunks, n * (chunk + 1) / chunks);
  } catch (...) {
    error.capture();
  }
  in_parallel = false;
}

}  // namespace

#ifdef TARE_NO_OPENMP

namespace {
std::atomic<int> configured_threads = int(std::max(1u, std::thread::hardware_concurrency()));
}

int num_threads() { return configured_threads; }
void set_num_threads(int n) {
  TARE_CHECK(n >= 1 && n <= kMostThreads, "set_num_threads: ", n, " threads; expected 1 to ", kMostThreads);
  configured_threads = n;
}

static void run_chunks(int64_t chunks, int64_t n, FunctionRef<void(int64_t, int64_t)> body,
                       FirstError& error) {
  std::vector<std::jthread> threads;  // joined on every way out
  for (int64_t c = 1; c < chunks; ++c)
    threads.emplace_back([&, c] {
      block_signals_in_this_thread();
      run_chunk(c, chunks, n, body, error);
    });
  run_chunk(0, chunks, n, body, error);
}

#else

namespace {
std::atomic<int> configured_threads = omp_get_max_threads();
}

// OpenMP keeps a number per thread. oneDNN asks OpenMP, so each thread that asks here hands it on.
int num_threads() {
  const int n = configured_threads;
  if (!in_parallel && omp_get_max_threads() != n) omp_set_num_threads(n);
  return n;
}
void set_num_threads(int n) {
  TARE_CHECK(n >= 1 && n <= kMostThreads, "set_num_threads: ", n, " threads; expected 1 to ", kMostThreads);
  configured_threads = n;
  omp_set_num_threads(n);
}

static void run_chunks(int64_t chunks, int64_t n, FunctionRef<void(int64_t, int64_t)> body,
                       FirstError& error) {
  // A team may be smaller than asked for, so each thread takes chunks until none is left.
#pragma omp parallel num_threads(int(chunks))
  {
    if (omp_get_thread_num() > 0) block_signals_in_this_thread();
    for (int64_t c = omp_get_thread_num(); c < chunks; c += omp_get_num_threads())
      run_chunk(c, chunks, n, body, error);
  }
}

#endif

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  const int64_t chunks = std::min<int64_t>(num_threads(), n / std::max<int64_t>(grain, 1));
  if (chunks <= 1 || in_parallel) return body(0, n);
  FirstError error;
  run_chunks(chunks, n, body, error);
  error.rethrow();
}

}  // namespace tare
