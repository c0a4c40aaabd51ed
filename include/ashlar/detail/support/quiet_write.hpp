// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes for a program that knows nothing of them: neither a signal nor a reader that has stopped may end or stop it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/kernel.hpp>

#if ASHLAR_POSIX
#include <cerrno>
#if !defined(ASHLAR_HAS_KERNEL) || defined(__mips__) || defined(__hppa__)  // other numbers of signal_set
#define ASHLAR_WRITES_BY_LIBC 1
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#endif
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if ASHLAR_POSIX

#if defined(ASHLAR_WRITES_BY_LIBC)
/// The calls of the writer: by the C library, where no direct ones are known. Each returns an error as its negated
/// number.
struct quiet_calls {
  using signal_set = ::sigset_t;

  struct errno_keeper {
    int saved = errno;
    ~errno_keeper() { errno = saved; }
  };

  [[nodiscard]] static signal_set of_writes() noexcept {
    signal_set set;
    ::sigemptyset(&set);
    for (const int each : {SIGPIPE, SIGXFSZ, SIGTTOU}) ::sigaddset(&set, each);
    return set;
  }
  [[nodiscard]] static signal_set block(const signal_set& set) noexcept {
    signal_set before;
    static_cast<void>(::pthread_sigmask(SIG_BLOCK, &set, &before));
    return before;
  }
  static void restore(const signal_set& before) noexcept {
    static_cast<void>(::pthread_sigmask(SIG_SETMASK, &before, nullptr));
  }
  [[nodiscard]] static signal_set pending() noexcept {
    signal_set set;
    static_cast<void>(::sigpending(&set));
    return set;
  }
  static void take(int signal, const signal_set& pending_before) noexcept {
    const signal_set now = pending();
    if (::sigismember(&pending_before, signal) != 0 || ::sigismember(&now, signal) == 0) return;
    signal_set set;
    ::sigemptyset(&set);
    ::sigaddset(&set, signal);
    static_cast<void>(::sigwait(&set, &signal));
  }
  [[nodiscard]] static int signal_of(long error) noexcept {
    return error == -EPIPE ? SIGPIPE : error == -EFBIG ? SIGXFSZ : 0;
  }
  [[nodiscard]] static bool has_room(int descriptor, int ms) noexcept {
    ::pollfd wanted = {descriptor, POLLOUT, 0};
    return ::poll(&wanted, 1, ms) > 0;
  }
  [[nodiscard]] static long write(int descriptor, const char* text, std::size_t bytes) noexcept {
    const auto written = ::write(descriptor, text, bytes);
    return written < 0 ? -errno : static_cast<long>(written);
  }
};
#else
/// The system calls of the writer. Each returns an error as its negated number.
struct quiet_calls {
  using signal_set = std::uint64_t;  // a bit for each
  struct errno_keeper {};            // none of the calls changes it

  [[nodiscard]] static constexpr signal_set of(int signal) noexcept { return signal_set{1} << (signal - 1); }
  [[nodiscard]] static constexpr signal_set of_writes() noexcept { return of(pipe_) | of(file_size_) | of(terminal_); }
  [[nodiscard]] static signal_set block(const signal_set& set) noexcept {
    signal_set before = 0;
    detail::call_kernel(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &set, &before, sizeof set);
    return before;
  }
  static void restore(const signal_set& before) noexcept {
    detail::call_kernel(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, nullptr, sizeof before);
  }
  [[nodiscard]] static signal_set pending() noexcept {
    signal_set set = 0;
    detail::call_kernel(SYS_rt_sigpending, &set, sizeof set);
    return set;
  }
  static void take([[maybe_unused]] int signal, [[maybe_unused]] const signal_set& pending_before) noexcept {
#if defined(SYS_rt_sigtimedwait)
    const signal_set set = of(signal) & ~pending_before;
    const long at_once[2] = {};
    detail::call_kernel(SYS_rt_sigtimedwait, &set, nullptr, at_once, sizeof set);
#endif
  }
  [[nodiscard]] static constexpr int signal_of(long error) noexcept {
    return error == -EPIPE ? pipe_ : error == -EFBIG ? file_size_ : 0;
  }
  [[nodiscard]] static bool has_room(int descriptor, int ms) noexcept {
    struct {
      int descriptor;
      short wanted, found;
    } one = {descriptor, 4 /* POLLOUT */, 0};
#if defined(SYS_poll)
    return detail::call_kernel(SYS_poll, &one, 1, ms) > 0;
#else
    const long time[2] = {0, ms * 1'000'000L};
    return detail::call_kernel(SYS_ppoll, &one, 1, time, nullptr) > 0;
#endif
  }
  [[nodiscard]] static long write(int descriptor, const char* text, std::size_t bytes) noexcept {
    return detail::call_kernel(SYS_write, descriptor, text, bytes);
  }

private:
  static constexpr int pipe_ = 13, file_size_ = 25, terminal_ = 22;
};
#endif
#undef ASHLAR_WRITES_BY_LIBC

/// Blocks for the calling thread the signals that a write raises, and takes those that its own have raised.
class write_signals {
public:
  write_signals() noexcept : before_(quiet_calls::block(quiet_calls::of_writes())), pending_(quiet_calls::pending()) {}
  write_signals(const write_signals&) = delete;
  write_signals& operator=(const write_signals&) = delete;
  ~write_signals() { quiet_calls::restore(before_); }

  /// Effects: takes the signal that a write with this result has raised, if any.
  void take_of(long error) const noexcept {
    if (const int raised = quiet_calls::signal_of(error); raised != 0) quiet_calls::take(raised, pending_);
  }

private:
  quiet_calls::signal_set before_, pending_;
};

/// Effects: writes all of the text, in pieces that a pipe takes as a whole; waits two seconds at most for room, since
/// the reader of a full pipe may have stopped; longer only if another writer takes the room that was there. Neither
/// SIGPIPE nor SIGXFSZ reaches the program, and `errno` is as before. Allocates nothing; no point of cancellation on
/// Linux. Returns: 0, or the number of the error that left some of the text out. Thread safety: any thread;
/// async-signal-safe.
ASHLAR_COLD inline int write_quietly(int descriptor, std::string_view text) noexcept {
  constexpr std::size_t most_bytes = 4096;  // at most PIPE_BUF, which a pipe with room takes without a wait
  constexpr int step_ms = 20, most_waits = 100;
  [[maybe_unused]] const quiet_calls::errno_keeper keep{};
  const write_signals quiet;
  long result = quiet_calls::write(descriptor, text.data(), 0);             // a descriptor to read from never has room
  if (result < 0) return quiet.take_of(result), static_cast<int>(-result);  // a socket without a reader raises here
  for (int waits = 0; !text.empty() && waits < most_waits;) {
    if (!quiet_calls::has_room(descriptor, step_ms)) result = -EAGAIN, ++waits;
    else result = quiet_calls::write(descriptor, text.data(), text.size() < most_bytes ? text.size() : most_bytes);
    if (result > 0) text.remove_prefix(static_cast<std::size_t>(result));
    else if (result != -EINTR && result != -EAGAIN) break;
  }
  quiet.take_of(result);
  return text.empty() ? 0 : result == 0 ? ENOSPC : static_cast<int>(-result);
}

#endif

}  // namespace ashlar::ASHLAR_ABI::detail
