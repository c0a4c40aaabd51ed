// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A separate stack for each thread of a model. A switch costs nanoseconds, since each explored step needs one.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace explorer {

/// The context makes a stack once. Later switches use _setjmp and _longjmp, which leave the signal mask unchanged.
class fiber {
public:
  using body = void (*)();

  /// Effects: resets the fiber; the next `resume` enters `entry`, which must not return.
  void prepare(body entry) {
    if (!stack_) stack_ = std::make_unique_for_overwrite<stack>();
    entry_ = entry;
  }

  /// Effects: continues this fiber. Returns: at the next `leave` or `quit`.
  void resume() {
    if (_setjmp(from_) != 0) return;
    if (!entry_) _longjmp(to_, 1);
    getcontext(&start_);
    start_.uc_stack.ss_sp = stack_->bytes;
    start_.uc_stack.ss_size = stack_bytes;
    start_.uc_link = nullptr;
    makecontext(&start_, entry_, 0);
    entry_ = nullptr;
    setcontext(&start_);
  }

  /// Effects: returns to the caller of `resume`, until the next one.
  void leave() {
    if (_setjmp(to_) == 0) _longjmp(from_, 1);
  }

  /// Effects: returns to the caller of `resume`, for good.
  [[noreturn]] void quit() { _longjmp(from_, 1); }

private:
  static constexpr std::size_t stack_bytes = 512 * 1024;
  // At a multiple of the 4 MiB by which a heap knows huge blocks: no cell of a model is at one, and each run is alike.
  struct alignas(std::size_t{4} << 20) stack {
    char bytes[stack_bytes];
  };

  std::unique_ptr<stack> stack_;
  body entry_ = nullptr;
  ucontext_t start_{};
  jmp_buf from_{};
  jmp_buf to_{};
};

}  // namespace explorer
