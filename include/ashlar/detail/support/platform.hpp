// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The services that the library needs of the system besides memory: error output, abort, yield.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/kernel.hpp>
#include <ashlar/detail/support/quiet_write.hpp>

#if ASHLAR_HOSTED
#include <cstdlib>
#if ASHLAR_POSIX
#include <sched.h>
#if __has_include(<sys/single_threaded.h>)  // of glibc
#include <sys/single_threaded.h>
#define ASHLAR_COUNTS_THREADS
#if defined(ASHLAR_MAY_LACK_GLIBC)  // libashlar runs over musl too, which has no such variable
#pragma weak __libc_single_threaded
#endif
#endif
#elif ASHLAR_WINDOWS
#include <io.h>
extern "C" __declspec(dllimport) int __stdcall SwitchToThread();
extern "C" __declspec(dllimport) void __stdcall Sleep(unsigned long milliseconds);
#else
#include <cstdio>
#include <thread>
#endif
#else
/// The error stream on a machine without an operating system. A program defines it to receive messages, for example on
/// a serial line; without a definition nothing is written.
extern "C" __attribute__((weak)) void ashlar_write_error(const char* text, std::size_t bytes) noexcept;
#endif

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// Effects: writes the text to the error stream, as `write_quietly`. Allocates nothing; a failed write is ignored,
/// since no other channel for the message exists.
inline void write_error(std::string_view text) noexcept {
#if !ASHLAR_HOSTED
  if (&ashlar_write_error != nullptr) ashlar_write_error(text.data(), text.size());
#elif ASHLAR_POSIX
  static_cast<void>(detail::write_quietly(2, text));
#elif ASHLAR_WINDOWS
  static_cast<void>(::_write(2, text.data(), static_cast<unsigned>(text.size())));
#else
  std::fwrite(text.data(), 1, text.size(), stderr);
#endif
}

/// Effects: aborts; without an operating system executes a trap instruction. A program that prefers to restart does so
/// in its handlers, which are called before (`set_violation_handler`).
[[noreturn]] ASHLAR_COLD inline void end_process() noexcept {
#if ASHLAR_HOSTED
  std::abort();
#else
  __builtin_trap();
#endif
}

/// Effects: lets other threads run; nothing without an operating system or without threads.
inline void yield_thread() noexcept {
#if defined(ASHLAR_HAS_KERNEL)
  detail::call_kernel(SYS_sched_yield);
#elif ASHLAR_POSIX
  ::sched_yield();
#elif ASHLAR_WINDOWS
  static_cast<void>(::SwitchToThread());
#elif ASHLAR_HOSTED && (!defined(__wasi__) || defined(_REENTRANT))  // the library of WASI has none
  std::this_thread::yield();
#endif
}

/// Returns: the address of the lower 32 bits of a word of a pointer's size.
[[nodiscard]] inline const void* low_half(const void* word) noexcept {
  constexpr std::size_t behind = std::endian::native == std::endian::big ? sizeof(void*) - sizeof(std::uint32_t) : 0;
  return static_cast<const char*>(word) + behind;
}

/// Effects: lets other threads run, also threads of lower priority: the first 16 turns yield, the next ones sleep. A
/// thread of real-time priority yields to its equals only, and would keep a preempted holder from running forever.
/// Sleeps by a plain system call, since the functions for it are points of cancellation, and malloc is none.
ASHLAR_COLD inline void yield_or_sleep(unsigned turn) noexcept {
  [[maybe_unused]] constexpr unsigned most_yields = 16;
#if ASHLAR_WINDOWS
  if (turn >= most_yields) return ::Sleep(1);
#elif defined(ASHLAR_HAS_KERNEL) && defined(SYS_nanosleep)
  if (turn >= most_yields) {
    const long seconds_and_nanoseconds[2] = {0, 50'000};
    detail::call_kernel(SYS_nanosleep, seconds_and_nanoseconds, nullptr);
    return;
  }
#endif
  static_cast<void>(turn);
  yield_thread();
}

/// Effects: sleeps for a few milliseconds, or until `wake_one`, if the word at `word` has the value `expected`. `turn`:
/// the sleeps before this one, where the system can only be asked for time.
ASHLAR_COLD inline void sleep_on(const void* word, std::uintptr_t expected, unsigned turn) noexcept {
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_futex)
  constexpr int wait_private = 128;  // FUTEX_WAIT_PRIVATE
  const long seconds_and_nanoseconds[2] = {0, 10'000'000};
  const long slept = detail::call_kernel(SYS_futex, low_half(word), wait_private, static_cast<std::uint32_t>(expected),
                                         seconds_and_nanoseconds, nullptr, 0);
  if (slept == 0 || slept == -EAGAIN || slept == -EINTR || slept == -ETIMEDOUT) return;
#endif
  static_cast<void>(word), static_cast<void>(expected);
  yield_or_sleep(turn);
}

/// Effects: wakes a thread that sleeps on the word, which is not read.
ASHLAR_COLD inline void wake_one([[maybe_unused]] const void* word) noexcept {
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_futex)
  constexpr int wake_private = 129;  // FUTEX_WAKE_PRIVATE
  detail::call_kernel(SYS_futex, low_half(word), wake_private, 1, nullptr, nullptr, 0);
#endif
}

/// Returns: whether the process has no thread but the caller; false where the system does not tell. With glibc it stays
/// false once a second thread has started, also after its end and in the child of a fork.
[[nodiscard]] inline bool is_only_thread() noexcept {
#if defined(ASHLAR_COUNTS_THREADS) && defined(ASHLAR_MAY_LACK_GLIBC)
  return &__libc_single_threaded != nullptr && __libc_single_threaded != 0;
#elif defined(ASHLAR_COUNTS_THREADS)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI

#undef ASHLAR_COUNTS_THREADS
