// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stack of its own for each thread of a model. A switch costs nanoseconds, for there is one for each step explored.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace explorer {

/// The context makes a stack once; after that _setjmp and _longjmp switch, for they leave the signal mask alone.
class fiber {
public:
  using body = void (*)();

  /// Effects: forgets what ran here; the next `resume` enters `entry`, which must not return.
  void prepare(body entry) {
    if (!stack_) stack_ = std::make_unique<char[]>(stack_bytes);
    entry_ = entry;
  }

  /// Effects: goes on in this fiber. Returns: when something calls `leave`.
  void resume() {
    if (_setjmp(from_) != 0) return;
    if (!entry_) _longjmp(to_, 1);
    getcontext(&start_);
    start_.uc_stack.ss_sp = stack_.get();
    start_.uc_stack.ss_size = stack_bytes;
    start_.uc_link = nullptr;
    makecontext(&start_, entry_, 0);
    entry_ = nullptr;
    setcontext(&start_);
  }

  /// Effects: goes back to who resumed this fiber, until the next `resume`.
  void leave() {
    if (_setjmp(to_) == 0) _longjmp(from_, 1);
  }

  /// Effects: goes back to who resumed this fiber, for good.
  [[noreturn]] void quit() { _longjmp(from_, 1); }

private:
  static constexpr std::size_t stack_bytes = 256 * 1024;

  std::unique_ptr<char[]> stack_;
  body entry_ = nullptr;
  ucontext_t start_{};
  jmp_buf from_{};
  jmp_buf to_{};
};

}  // namespace explorer
