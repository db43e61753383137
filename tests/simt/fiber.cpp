// SPDX-License-Identifier: Apache-2.0
// Context switch: x86-64 assembly (tens of nanoseconds), ucontext (ten times that) for other processors.
#include "tests/simt/fiber.h"

#include <new>

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)

// simt_switch(void** save, void* to): the callee-saved registers go on the old stack and come from the new
// one.
asm(R"(
.text
.globl simt_switch
.type simt_switch,@function
simt_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size simt_switch,.-simt_switch
)");
extern "C" void simt_switch(void** save, void* to);

namespace {
void* make_context(void*, char* stack, size_t size, void (*entry)()) {
  auto** sp = reinterpret_cast<void**>(stack + size);
  *--sp = nullptr;  // return address of entry, which never returns; keeps the stack 16-byte aligned
  *--sp = reinterpret_cast<void*>(entry);
  for (int registers = 0; registers < 6; ++registers) *--sp = nullptr;
  return sp;
}
void free_context(void*) {}
}  // namespace

#else
#include <ucontext.h>

namespace {
// Apart, since getcontext may return twice and nothing may live across it.
__attribute__((noinline)) void capture(ucontext_t* context) { getcontext(context); }

void* make_context(void* old, char* stack, size_t size, void (*entry)()) {
  auto* context = old ? static_cast<ucontext_t*>(old) : new ucontext_t;
  capture(context);
  context->uc_stack.ss_sp = stack, context->uc_stack.ss_size = size, context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}
void free_context(void* context) { delete static_cast<ucontext_t*>(context); }
thread_local ucontext_t driver;
void simt_switch(void** save, void* to) {
  if (!*save) *save = &driver;
  swapcontext(static_cast<ucontext_t*>(*save), static_cast<ucontext_t*>(to));
}
}  // namespace
#endif

namespace simt {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 256 << 10;  // red zones
#else
constexpr size_t kStackBytes = 128 << 10;
#endif
constexpr size_t kGuardBytes = 64 << 10;  // a multiple of any page size

// The driving thread, while it has entered a fiber.
thread_local void* driver_context = nullptr;
#ifdef __SANITIZE_ADDRESS__
thread_local void* driver_fake_stack = nullptr;
thread_local const void* driver_stack = nullptr;
thread_local size_t driver_stack_bytes = 0;
#endif

}  // namespace

Fiber::Fiber() {
  void* p = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  mprotect(p, kGuardBytes, PROT_NONE);
  stack_ = static_cast<char*>(p) + kGuardBytes;
}

Fiber::~Fiber() {
  free_context(context_);
  munmap(stack_ - kGuardBytes, kGuardBytes + kStackBytes);
}

void Fiber::start(void (*entry)()) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(stack_, kStackBytes);
#endif
  fake_stack_ = nullptr;
  context_ = make_context(context_, stack_, kStackBytes, entry);
}

__attribute__((noinline)) void Fiber::enter() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&driver_fake_stack, stack_, kStackBytes);
#endif
  simt_switch(&driver_context, context_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(driver_fake_stack, nullptr, nullptr);
#endif
}

__attribute__((noinline)) void Fiber::leave([[maybe_unused]] bool for_ever) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake_stack_, driver_stack, driver_stack_bytes);
#endif
  simt_switch(&context_, driver_context);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack_, &driver_stack, &driver_stack_bytes);
#endif
}

void Fiber::arrived() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &driver_stack, &driver_stack_bytes);
#endif
}

bool Fiber::owns(const void* p) const { return p >= stack_ && p < stack_ + kStackBytes; }

}  // namespace simt
