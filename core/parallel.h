// SPDX-License-Identifier: Apache-2.0
// Threads. All parallel loops of the CPU twins go through parallel_for; OpenMP is used in parallel.cpp alone.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace tare {

// A reference to a callable; it must outlive the call. No allocation, unlike std::function.
template <class Signature> class FunctionRef;
template <class R, class... A> class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, FunctionRef>) FunctionRef(F&& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, A... a) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(a)...);
        }) {}
  R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

int num_threads();
void set_num_threads(int n);  // also oneDNN's, which shares the OpenMP pool; n < 1 is an Error

// body(begin, end) over disjoint ranges that cover [0, n); each range but the last has at least `grain`
// items. Ranges depend on the number of threads: a reduction must be cut into fixed pieces by its caller. An
// exception from a body is rethrown here. A nested call runs serially.
void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

}  // namespace tare
