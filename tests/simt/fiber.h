// SPDX-License-Identifier: Apache-2.0
// Fibers: a stack with a guard page, and a switch of context between it and the thread that drives it.
#pragma once
#include <cstddef>

namespace simt {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Prepares a call of `entry` on the empty stack; what ran there before is forgotten. entry ends in
  // leave(true).
  void start(void (*entry)());
  void enter();                    // from the driving thread: runs the fiber until it leaves
  void leave(bool for_ever);       // from the fiber: back to the driving thread
  static void arrived();           // first statement of entry: completes the switch for ASan
  bool owns(const void* p) const;  // p lies on this stack

 private:
  char* stack_ = nullptr;
  void* context_ = nullptr;     // saved stack pointer, or ucontext_t*
  void* fake_stack_ = nullptr;  // ASan's
};

}  // namespace simt
