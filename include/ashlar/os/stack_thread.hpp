// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread whose stack contains an object: a forked child may lack it, and use the stack again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>

#if defined(__linux__) && ASHLAR_POSIX
#include <pthread.h>
#define ASHLAR_FINDS_STACK 1
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// The thread whose stack contains an object; none for other objects, and on the stack of the main thread. A
/// forked child lacks all threads but one, and glibc gives their stacks to its next threads, but not the main one's.
class stack_thread {
public:
  constexpr stack_thread() noexcept = default;
  /// Expects: the thread that makes the object calls it; the stack of another thread is not found. Complexity: two
  /// compares, except that each thread asks the C library for its stack, once.
  explicit constexpr stack_thread([[maybe_unused]] const void* object) noexcept {
#if defined(ASHLAR_FINDS_STACK)
    if (!std::is_constant_evaluated() && is_on_own_stack(reinterpret_cast<std::uintptr_t>(object))) thread_ = own();
#endif
  }

  [[nodiscard]] constexpr bool is_any() const noexcept { return thread_ != 0; }
  /// Returns: whether a forked child lacks the thread. Expects: the child has no second thread yet.
  [[nodiscard]] bool is_gone() const noexcept { return is_any() && thread_ != own(); }

  /// Returns: whether an object that `is_any()` held for lies on the stack of this thread.
  [[nodiscard]] static bool is_on_own([[maybe_unused]] const void* object) noexcept {
#if defined(ASHLAR_FINDS_STACK)
    const auto at = reinterpret_cast<std::uintptr_t>(object);
    return lowest_ != 0 && at >= lowest_ && at < own();  // its maker has asked
#else
    return true;
#endif
  }

private:
#if defined(ASHLAR_FINDS_STACK)
  // It lies behind the thread's stack, but before the main thread's.
  [[nodiscard]] static std::uintptr_t own() noexcept { return std::bit_cast<std::uintptr_t>(::pthread_self()); }

  // Not inlined: objects of its caller lie above its frame.
  [[nodiscard]] ASHLAR_NOINLINE static bool is_on_own_stack(std::uintptr_t object) noexcept {
    if (object < reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) || object >= own()) return false;
    if (lowest_ == 0) ask();  // the frame may be in a stack that the program has made
    return object >= lowest_;
  }

  ASHLAR_COLD static void ask() noexcept {
    lowest_ = UINTPTR_MAX;  // if this fails, or allocates and comes here again
    ::pthread_attr_t all;
    if (::pthread_getattr_np(::pthread_self(), &all) != 0) return;
    void* start = nullptr;
    std::size_t bytes = 0;
    if (::pthread_attr_getstack(&all, &start, &bytes) == 0) lowest_ = reinterpret_cast<std::uintptr_t>(start);
    ::pthread_attr_destroy(&all);
  }

  static inline constinit ASHLAR_THREAD_LOCAL std::uintptr_t lowest_ = 0;  // of the stack; 0: not asked yet
#else
  [[nodiscard]] static std::uintptr_t own() noexcept { return 0; }
#endif

  std::uintptr_t thread_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#undef ASHLAR_FINDS_STACK
